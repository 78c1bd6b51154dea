package workloads

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed kernel
var sources embed.FS

// moduleFlags is how modules for an image are compiled.
type moduleFlags struct {
	Cross  string   // what the names of the compiler's tools begin with: "" for the host's
	Family string   // folder of kernel/arch that has the headers of the instruction set
	Flags  []string // options of the compiler, without the folders of headers
}

// ReadModuleFlags reads them from an image, whose build wrote them there.
func ReadModuleFlags(img []byte) (f moduleFlags, err error) {
	file, err := elf.NewFile(bytes.NewReader(img))
	if err != nil {
		return f, fmt.Errorf("not an ELF image: %w", err)
	}
	sec := file.Section(".module_flags")
	if sec == nil {
		return f, errors.New("image without a section .module_flags: rebuild it with make guest")
	}
	text, err := sec.Data()
	if err != nil {
		return f, fmt.Errorf("section .module_flags: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "CROSS":
			f.Cross = value
		case "FAMILY":
			f.Family = value
		case "FLAGS":
			f.Flags = strings.Fields(value)
		}
	}
	if f.Family == "" || len(f.Flags) == 0 {
		return f, errors.New("section .module_flags lacks FAMILY or FLAGS: rebuild the image with make guest")
	}
	return f, nil
}

// headerFolders are the folders of headers for a family, in the order in which a compiler looks.
func headerFolders(family string) []string {
	return []string{"module/include", "include", "arch/" + family + "/include"}
}

// manifest is the file that lists what WriteHeaders wrote, a hash and a path a line.
const manifest = ".kprobesim-headers"

// WriteHeaders writes what modules for an image are compiled against into a folder: the headers, a file flags
// for gcc @flags, and a fragment module.mk for make. A folder that it wrote before is replaced as a whole. One that
// holds anything else is left alone, with an error that names the file.
func WriteHeaders(dir, image string) error {
	img, err := Open(image)
	if err != nil {
		return err
	}
	flags, err := ReadModuleFlags(img)
	if err != nil {
		return fmt.Errorf("image %s: %w", image, err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if strings.ContainsAny(dir, " \t\n\"'\\") {
		return fmt.Errorf("%s: a path with spaces, quotes or backslashes cannot stand in a file of options: choose another folder", dir)
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	files, err := headerFiles(dir, image, flags)
	if err != nil {
		return err
	}
	return swapIn(dir, files)
}

// headerFiles returns the contents of the folder by their paths in it.
func headerFiles(dir, image string, f moduleFlags) (map[string][]byte, error) {
	files := map[string][]byte{}
	options := []string{"-nostdinc"}
	for _, folder := range headerFolders(f.Family) {
		root := "kernel/" + folder
		err := fs.WalkDir(sources, root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := sources.ReadFile(p)
			files[strings.TrimPrefix(p, "kernel/")] = b
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("headers in %s: %w", root, err)
		}
		options = append(options, "-I"+path.Join(filepath.ToSlash(dir), folder))
	}
	files["flags"] = []byte(strings.Join(append(options, f.Flags...), "\n") + "\n")
	files["module.mk"] = fmt.Appendf(nil, "# Modules for %s: include this file, or make -f it my_probe.o.\n"+
		"%%.o: %%.c\n\t%sgcc @%s -c $< -o $@\n", image, f.Cross, path.Join(filepath.ToSlash(dir), "flags"))
	return files, nil
}

// replaceable reports what keeps a folder from being written or replaced.
func replaceable(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	known, err := readManifest(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || rel == manifest {
			return err
		}
		want, ours := known[filepath.ToSlash(rel)]
		if !ours {
			return fmt.Errorf("%s is none of the files that headers writes: name a folder that holds nothing else", p)
		}
		b, err := os.ReadFile(p)
		if err == nil && hashOf(b) != want {
			err = fmt.Errorf("%s was changed since headers wrote it: move it away or name another folder", p)
		}
		return err
	})
}

// readManifest returns the hashes of the files that a folder was written with; none for a folder without a list.
func readManifest(dir string) (map[string]string, error) {
	known := map[string]string{}
	b, err := os.ReadFile(filepath.Join(dir, manifest))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what headers wrote before: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if hash, p, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			known[p] = hash
		}
	}
	return known, nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// swapIn writes the files beside the folder first and lets the new folder take its place when it is whole.
func swapIn(dir string, files map[string][]byte) (err error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	stage, err := os.MkdirTemp(parent, ".kprobesim-headers-")
	if err != nil {
		return fmt.Errorf("cannot write beside %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	fresh, old := filepath.Join(stage, "new"), filepath.Join(stage, "old")
	if err := writeTree(fresh, files); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil {
		if err := os.Rename(dir, old); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return nil
}

// writeTree writes files and the list of them into a new folder.
func writeTree(dir string, files map[string][]byte) error {
	var list strings.Builder
	for _, p := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, files[p], 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", hashOf(files[p]), p)
	}
	return os.WriteFile(filepath.Join(dir, manifest), []byte(list.String()), 0o644)
}
