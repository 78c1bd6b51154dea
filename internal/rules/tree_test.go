// Package rules holds the repository against the rules that no compiler
// checks: which room may import which, what file names are safe, how long
// functions and files may grow, and that packages say what they are. It has
// tests only.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kprobesim/internal/require"
)

const module = "kprobesim"

// A source is one parsed Go file of the repository.
type source struct {
	name string // slash-separated path below the root of the repository
	file *ast.File
	fset *token.FileSet
}

// test tells whether the file is compiled into tests only.
func (s *source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

// dir is the folder of the file, "." for the root.
func (s *source) dir() string { return path.Dir(s.name) }

// line returns the line of p.
func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// imports returns the import paths of the file.
func (s *source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// sources returns every Go file of the repository, in the order of their names. They are parsed once for all tests.
func sources(t *testing.T) []*source {
	t.Helper()
	parsed.Do(func() { parsed.all, parsed.err = parse(root(t)) })
	require.NoError(t, parsed.err)
	return parsed.all
}

// parsed keeps the result of sources.
var parsed struct {
	sync.Once
	all []*source
	err error
}

// parse parses every Go file below a folder.
func parse(root string) (all []*source, err error) {
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) && name != root {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		all = append(all, &source{filepath.ToSlash(rel), file, fset})
		return err
	})
	return all, err
}

// skipped names the folders that hold no code of the repository.
func skipped(dir string) bool {
	return dir == "testdata" || dir == "out" || strings.HasPrefix(dir, ".")
}

// root finds the folder of go.mod above the test's working directory.
func root(t *testing.T) string {
	t.Helper()
	dir := require.Must(os.Getwd())(t)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.Need(t, up != dir, "no go.mod above the working directory")
		dir = up
	}
}
