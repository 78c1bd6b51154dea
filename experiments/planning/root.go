package planning

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/distro"
	"kprobesim/distro/rootfs"
	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/image/linux"
	"kprobesim/internal/doc"
	"kprobesim/results/outdir"
)

// root makes the root file system of an experiment: what its folders and archives have, a later one before an earlier one, with
// the input and the program that sets marks.
func (l *Loader) root(file *doc.Node, w *schema.Working, tools []*schema.UserTool, k *linux.Kernel) error {
	tree := rootfs.Tree{}
	var image rootfs.Image
	for _, name := range w.Root {
		last, err := l.addRoot(tree, folder(file, "workload", "root"), name, k.Image.Machine)
		if err != nil {
			return fmt.Errorf("root: %s: %w", name, err)
		}
		if last != nil {
			image = *last
		}
	}
	if err := byImage(w, tree, image); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if w.Only != nil {
		var err error
		if tree, err = tree.Only(append([]string{w.Command[0]}, w.Only...)); err != nil {
			return fmt.Errorf("only: %w", err)
		}
	}
	if err := tree.Executable(w.Command[0]); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	command, _ := tree.Find(w.Command[0])
	if err := distro.Runs(k, command); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if w.Folder = image.Folder; w.Folder != "" {
		switch f, there := tree.Find(w.Folder); {
		case there && f.Mode&^0o7777 != rootfs.Folder:
			return fmt.Errorf("root: the image starts its program in %s, which is no folder", w.Folder)
		case !there:
			tree.Put(distro.File{Name: strings.Trim(w.Folder, "/"), Mode: distro.ModeFolder}) // as a runtime of containers makes it
		}
	}
	if _, taken := tree["init"]; taken {
		return errors.New("root: has a file /init, where the first program of the machine goes: leave it out")
	}
	var input []byte
	if w.Input != "" {
		var err error
		if input, err = experiments.ReadLimited(w.Input); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	tree.Put(distro.File{Name: ".input", Mode: distro.ModeFile, Data: input})
	mark, err := distro.Mark(k)
	if err != nil {
		return err
	}
	tree.Put(mark)
	if err := putTools(tree, tools, k); err != nil {
		return err
	}
	w.Archive = distro.Initrd(tree.Files())
	w.Hash = outdir.Hash(w.Archive)
	if w.Disk.Path != "" {
		if err := l.disk(w, k); err != nil {
			return fmt.Errorf("disk: %s: %w", w.Disk.Path, err)
		}
	}
	l.depend("root", strings.Join(w.Root, "+"), w.Hash)
	return nil
}

// byImage has the program run as an image says, where the experiment says nothing.
func byImage(w *schema.Working, tree rootfs.Tree, image rootfs.Image) error {
	if w.Env == nil {
		w.Env = schema.EnvOver(image.Env)
	}
	if w.Command != nil {
		return nil
	}
	if len(image.Command) == 0 {
		return errors.New("is missing, and no image of the root names one")
	}
	w.Command = slices.Clone(image.Command)
	if strings.Contains(w.Command[0], "/") {
		if !path.IsAbs(w.Command[0]) {
			w.Command[0] = path.Join("/", image.Folder, w.Command[0])
		}
		return nil
	}
	for _, v := range w.Env {
		dirs, ok := strings.CutPrefix(v, "PATH=")
		for _, dir := range strings.Split(dirs, ":") {
			if file := path.Join("/", dir, w.Command[0]); ok && tree.Executable(file) == nil {
				w.Command[0] = file
				return nil
			}
		}
	}
	return fmt.Errorf("%s of the image is in no folder of its PATH: name the program", w.Command[0])
}

// putTools adds the program that starts tools, if there are any, and wants each to be in the root.
func putTools(tree rootfs.Tree, tools []*schema.UserTool, k *linux.Kernel) error {
	for _, t := range tools {
		if err := tree.Executable(t.Command[0]); err != nil {
			return fmt.Errorf("command of a tool: %w", err)
		}
		f, err := distro.Background(k)
		if err != nil {
			return err
		}
		tree.Put(f)
	}
	return nil
}

// lackingRoot is a root that this host has not.
type lackingRoot struct{ file string }

// Error implements error.
func (l *lackingRoot) Error() string {
	return fmt.Sprintf("%s is not there: make it a folder or an archive with the program, or name another one by workload.root", l.file)
}

// addRoot adds a folder or an archive, of an image the one for an instruction set. A name without a slash is one in the folder of packaged kernels.
func (l *Loader) addRoot(tree rootfs.Tree, base, name string, machine elf.Machine) (*rootfs.Image, error) {
	file := name
	switch {
	case filepath.IsAbs(name):
	case doc.IsPath(name):
		file = filepath.Join(base, name)
	case os.Getenv(KernelFolder) == "":
		return nil, fmt.Errorf("a name without a slash is looked for in the directory that the environment names as %s", KernelFolder)
	default:
		file = filepath.Join(os.Getenv(KernelFolder), name)
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) && !doc.IsPath(name) {
		return nil, &lackingRoot{file}
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, addFolder(tree, file)
	}
	b, err := experiments.ReadUpTo(file, rootfs.Most)
	if err != nil {
		return nil, err
	}
	return tree.ArchiveOf(machine, b)
}

// addFolder adds the files of a folder, in the order of their names. It reads all of them, so the root of a running system is none.
func addFolder(tree rootfs.Tree, dir string) error {
	size := int64(0)
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if size += info.Size(); size > rootfs.Most {
			return fmt.Errorf("has more than %d bytes: make a folder or an archive of what the program needs", rootfs.Most)
		}
		f := distro.File{Name: filepath.ToSlash(name), Mode: uint32(info.Mode().Perm())}
		switch kind := info.Mode() & fs.ModeType; kind {
		case 0:
			f.Mode |= rootfs.Regular
			f.Data, err = os.ReadFile(file)
		case fs.ModeDir:
			f.Mode |= rootfs.Folder
		case fs.ModeSymlink:
			var to string
			to, err = os.Readlink(file)
			f.Mode, f.Data = rootfs.Link|0o777, []byte(to)
		default:
			return nil // the kernel has devices of its own
		}
		if err == nil {
			tree.Put(f)
		}
		return err
	})
}
