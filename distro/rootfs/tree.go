package rootfs

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kprobesim/distro"
)

// Types of files, as st_mode has them.
const (
	typeMask = 0o170000
	Regular  = 0o100000
	Folder   = 0o040000
	Link     = 0o120000
)

// Tree has files by their names, without a slash at the beginning.
type Tree map[string]distro.File

// Put adds a file, in place of one with its name, and the folders around it that are not there. Links on the way are followed,
// as in systems where /bin leads to /usr/bin. A folder that is there stays when a link comes with its name, and goes with all
// that it has when another file does.
func (t Tree) Put(f distro.File) {
	f.Name = strings.TrimPrefix(path.Clean("/"+f.Name), "/")
	if f.Name == "" {
		return
	}
	if dir := path.Dir(f.Name); dir != "." {
		f.Name = path.Join(t.folder(dir), path.Base(f.Name))
	}
	kind, old := f.Mode&typeMask, t[f.Name].Mode&typeMask
	switch {
	case kind == Folder && old == Link || kind == Link && old == Folder:
		return
	case kind != Folder && old == Folder:
		maps.DeleteFunc(t, func(name string, _ distro.File) bool { return strings.HasPrefix(name, f.Name+"/") })
	}
	t[f.Name] = f
}

// place is where a file lies or would lie, behind the links on the way to its folder; "" where that is not there.
func (t Tree) place(name string) string {
	dir, base := path.Split(strings.TrimPrefix(path.Clean("/"+name), "/"))
	if dir == "" {
		return base
	}
	var way []string
	if _, at, ok := t.find(dir, &way); ok {
		return path.Join(at, base)
	}
	return ""
}

// folder is the name of a folder behind all links. It is made where it is not there, also behind a link whose folder comes later,
// and in place of a file, or of a link that leads nowhere.
func (t Tree) folder(name string) (at string) {
	rest, links := parts(name), 0
	for len(rest) > 0 {
		at, rest = path.Join(at, rest[0]), rest[1:]
		switch kind := t[at].Mode & typeMask; {
		case kind == Link && links < mostLinks:
			links++
			rest, at = append(behind(t[at]), rest...), ""
		case kind != Folder:
			t[at] = distro.File{Name: at, Mode: distro.ModeFolder}
		}
	}
	return at
}

// parts are the names on the way to a file, from the root on.
func parts(name string) []string {
	return strings.FieldsFunc(path.Clean("/"+name), func(r rune) bool { return r == '/' })
}

// behind is where a link leads.
func behind(link distro.File) []string {
	to := string(link.Data)
	if !path.IsAbs(to) {
		to = path.Join("/", path.Dir(link.Name), to)
	}
	return parts(to)
}

// Files are the files in the order of their names: folders come before what is in them.
func (t Tree) Files() []distro.File {
	var out []distro.File
	for _, name := range slices.Sorted(maps.Keys(t)) {
		out = append(out, t[name])
	}
	return out
}

// mostLinks bounds the links on the way to a file, as kernels do (path_resolution(7)).
const mostLinks = 40

// Find follows links to a file.
func (t Tree) Find(name string) (f distro.File, ok bool) {
	var way []string // the links on it
	f, _, ok = t.find(name, &way)
	return f, ok
}

// find is Find, and adds the links on the way.
func (t Tree) find(name string, way *[]string) (f distro.File, at string, ok bool) {
	rest := parts(name)
	for len(rest) > 0 {
		at = path.Join(at, rest[0])
		if f, ok = t[at]; !ok {
			return f, at, false
		}
		if rest = rest[1:]; f.Mode&typeMask != Link {
			continue
		}
		if *way = append(*way, at); len(*way) > mostLinks {
			return f, at, false
		}
		rest, at = append(behind(f), rest...), ""
		f = distro.File{Mode: distro.ModeFolder} // for a link to the root
	}
	return f, at, true
}

// Executable fails for a file that is not there, and for one that cannot be executed.
func (t Tree) Executable(name string) error {
	f, ok := t.Find(name)
	switch {
	case !ok:
		return fmt.Errorf("the root has no file %s", name)
	case f.Mode&typeMask != Regular || f.Mode&0o111 == 0:
		return fmt.Errorf("%s of the root is not a file that can be executed", name)
	}
	return nil
}

// libraries are the folders in which a loader looks for libraries, Debian's first.
func libraries() []string {
	return []string{
		"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib/arm-linux-gnueabi", "usr/lib/arm-linux-gnueabi",
		"lib64", "usr/lib64", "lib", "usr/lib",
	}
}

// Only is the tree with some files or folders alone, with the links that lead there and the libraries and interpreters that
// they need. It fails for what is not there.
func (t Tree) Only(names []string) (Tree, error) {
	out := Tree{}
	for _, n := range names {
		if err := t.take(out, n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// take adds a file to another tree, or a folder with what is in it.
func (t Tree) take(out Tree, name string) error {
	var way []string
	f, at, ok := t.find(name, &way)
	if !ok {
		return fmt.Errorf("the root has no file %s", name)
	}
	for _, link := range way {
		out.Put(t[link])
	}
	if _, done := out[at]; done && f.Mode&typeMask == Regular {
		return nil
	}
	out.Put(f)
	if f.Mode&typeMask == Folder {
		for _, inside := range slices.Sorted(maps.Keys(t)) {
			if path.Dir(inside) == at {
				if err := t.take(out, inside); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return t.takeNeeded(out, f)
}

// takeNeeded adds what a program or library needs.
func (t Tree) takeNeeded(out Tree, f distro.File) error {
	if first, _, _ := bytes.Cut(f.Data, []byte("\n")); bytes.HasPrefix(first, []byte("#!")) {
		if fields := strings.Fields(string(first[2:])); len(fields) > 0 {
			return t.take(out, fields[0])
		}
		return nil
	}
	e, err := elf.NewFile(bytes.NewReader(f.Data))
	if err != nil {
		return nil // it is no program
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, min(p.Filesz, 4096))
			if _, err := p.ReadAt(b, 0); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			if err := t.take(out, string(bytes.TrimRight(b, "\x00"))); err != nil {
				return fmt.Errorf("%s needs it: %w", f.Name, err)
			}
		}
	}
	needed, err := e.ImportedLibraries()
	if err != nil {
		return nil // a static one
	}
	for _, lib := range needed {
		if err := t.takeLibrary(out, lib); err != nil {
			return fmt.Errorf("%s needs it: %w", f.Name, err)
		}
	}
	return nil
}

// Program finds a program or a library by its path, or by its name in the usual folders. It returns the path with all links followed,
// and what the file has.
func (t Tree) Program(name string) (string, []byte, error) {
	places := []string{name}
	if !strings.Contains(name, "/") {
		places = nil
		for _, dir := range append(libraries(), "usr/bin", "bin", "usr/sbin", "sbin") {
			places = append(places, path.Join(dir, name))
		}
	}
	for _, place := range places {
		var way []string
		if f, at, ok := t.find(place, &way); ok && f.Mode&typeMask == Regular {
			return "/" + at, f.Data, nil
		}
	}
	return "", nil, fmt.Errorf("the root has no file %s", name)
}

func (t Tree) takeLibrary(out Tree, name string) error {
	for _, dir := range libraries() {
		if _, ok := t.Find(path.Join(dir, name)); ok {
			return t.take(out, path.Join(dir, name))
		}
	}
	return fmt.Errorf("the root has no library %s in %s", name, strings.Join(libraries(), ", "))
}
