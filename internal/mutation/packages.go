package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A pkg is a package of the module as go list tells of it.
type pkg struct {
	ImportPath, Dir, Export            string
	GoFiles, TestImports, XTestImports []string
	Deps, TestGoFiles, XTestGoFiles    []string
	Module                             *struct{ Main bool }
	files                              []*ast.File
	texts                              []string
}

// A tree is all packages, and what the type checker knows of them.
type tree struct {
	root  string
	all   map[string]*pkg
	fset  *token.FileSet
	types types.Importer
}

// apart are packages that only tests use, and whose mistakes no test is to notice.
func apart(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(path, "/internal/") && slices.Contains([]string{"mutants", "mutation", "tests", "hosttools", "rules"}, last) || strings.HasSuffix(last, "test")
}

// load lists the packages of the module at root and compiles what they export.
func load(root string) (*tree, error) {
	c := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Deps,TestImports,XTestImports,TestGoFiles,XTestGoFiles,Module", "./...")
	c.Dir, c.Stderr = root, os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	t := &tree{root: root, all: map[string]*pkg{}, fset: token.NewFileSet()}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &pkg{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		t.all[p.ImportPath] = p
	}
	t.types = importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) {
		if p := t.all[path]; p != nil && p.Export != "" {
			return os.Open(p.Export)
		}
		return nil, fmt.Errorf("nothing is known of %s", path)
	})
	return t, nil
}

// own returns the packages of the module that have mutants, by their paths.
func (t *tree) own() (all []*pkg) {
	for _, p := range t.all {
		if p.Module != nil && p.Module.Main && len(p.GoFiles) > 0 && !apart(p.ImportPath) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return all
}

// tested tells whether a package has tests.
func (p *pkg) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// folder returns where a package is below the root.
func (t *tree) folder(p *pkg) string {
	rel, err := filepath.Rel(t.root, p.Dir)
	if err != nil {
		return p.Dir
	}
	return filepath.ToSlash(rel)
}

// reach tells whether tests of a package execute another: it, or a test of it, imports that.
func (t *tree) reach(from *pkg, to string) bool {
	for _, path := range slices.Concat(from.Deps, from.TestImports, from.XTestImports) {
		if path == to {
			return true
		}
		if p := t.all[path]; p != nil && slices.Contains(p.Deps, to) {
			return true
		}
	}
	return false
}

// testers returns the packages whose tests may notice a mistake in a package: its own first, then those that import it.
// With few they are of the same house.
func (t *tree) testers(of *pkg, few bool) (all []string) {
	if of.tested() {
		all = append(all, t.folder(of))
	}
	for _, p := range t.own() {
		if p != of && p.tested() && t.reach(p, of.ImportPath) && (!few || house(t.folder(p)) == house(t.folder(of))) {
			all = append(all, t.folder(p))
		}
	}
	return all
}

// house is the first part of a folder's name.
func house(folder string) string {
	first, _, _ := strings.Cut(folder, "/")
	return first
}

// parse reads the files of a package.
func (t *tree) parse(p *pkg) error {
	for _, name := range p.GoFiles {
		b, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(t.fset, filepath.Join(t.folder(p), name), b, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files, p.texts = append(p.files, f), append(p.texts, string(b))
	}
	return nil
}

// compiles tells whether a package with a changed file is correct. Only the function of a name and place is looked into.
func (t *tree) compiles(p *pkg, file int, text string, function int) bool {
	fset := token.NewFileSet()
	var files []*ast.File
	for i := range p.GoFiles {
		src := p.texts[i]
		if i == file {
			src = text
		}
		f, err := parser.ParseFile(fset, p.GoFiles[i], src, parser.SkipObjectResolution)
		if err != nil {
			return false
		}
		for n, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && (i != file || n != function) {
				fn.Body = nil
			}
		}
		files = append(files, f)
	}
	sound := true
	conf := types.Config{Importer: t.types, Error: func(err error) {
		sound = sound && unused(err)
	}}
	_, _ = conf.Check(p.ImportPath, fset, files, nil)
	return sound
}

// unused tells whether an error is of what bodies that were left out would use.
func unused(err error) bool {
	text := err.Error()
	return strings.Contains(text, "imported and not used") || strings.Contains(text, "imported as ") && strings.Contains(text, "not used") ||
		strings.Contains(text, "missing function body") || strings.Contains(text, "func init must have a body") || strings.Contains(text, "func main must have")
}
