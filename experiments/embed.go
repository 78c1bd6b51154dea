package experiments

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kprobesim/internal/doc"
)

// own holds the experiment files and machine descriptions of this repository, so that they are
// found by name wherever the program runs.
//
//go:embed *.toml machines
var own embed.FS

// ownNames returns the names of the files in a folder of own, without ".toml", sorted.
func ownNames(folder string) []string {
	entries, err := fs.ReadDir(own, folder)
	if err != nil {
		return nil // the folder is part of the program; without it there is nothing to name
	}
	var names []string
	for _, e := range entries {
		if n, ok := strings.CutSuffix(e.Name(), ".toml"); ok {
			names = append(names, n)
		}
	}
	return names
}

// Machines returns the names of the machine descriptions of this program.
func Machines() []string { return ownNames("machines") }

// Names returns the names of the experiment files of this program.
func Names() []string { return ownNames(".") }

// readOwn returns the file of a name under folder, for instance machines.
func readOwn(folder, what, name string) (file string, b []byte, err error) {
	file = path.Join(folder, name+".toml")
	b, err = fs.ReadFile(own, file)
	if err != nil {
		known := ownNames(folder)
		return "", nil, fmt.Errorf("unknown %s %q: known are %s, or give the path of a file (./%s.toml)%s",
			what, name, strings.Join(known, ", "), name, doc.Suggest(name, known))
	}
	return path.Join("experiments", file), b, nil
}

// Read reads an experiment or a machine description by name or path. A relative path starts at
// base.
func Read(folder, what, name, base string) (file string, b []byte, err error) {
	if !doc.IsPath(name) {
		return readOwn(folder, what, name)
	}
	file = name
	if !filepath.IsAbs(file) {
		file = filepath.Join(base, file)
	}
	if b, err = ReadLimited(file); err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return file, b, err
}

// maxFile bounds the files that people bring, in bytes.
const maxFile = 64 << 20

// ReadLimited reads a file that is not absurdly large.
func ReadLimited(file string) ([]byte, error) { return ReadUpTo(file, maxFile) }

// ReadUpTo is ReadLimited with a bound of its own, in bytes.
func ReadUpTo(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", file)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", file)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", file, info.Size(), limit)
	}
	return os.ReadFile(file)
}
