package rules

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// Limits of length in lines; tables do not count.
const (
	maxFunc  = 80
	maxFile  = 600
	minTable = 10 // a literal of this many lines is a table
)

// platforms are the words that make go build leave a file out when its name
// ends in one of them: the lists of go/build, old and future ports included.
var platforms = strings.Fields(`
	386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64
	mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x
	sparc sparc64 wasm
	aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd
	openbsd plan9 solaris wasip1 windows zos`)

// TestFileNamesAreBuiltEverywhere finds names like walk_arm.go, which go build
// silently leaves out on every other machine.
func TestFileNamesAreBuiltEverywhere(t *testing.T) {
	for _, s := range sources(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.name), ".go"), "_test")
		words := strings.Split(name, "_")
		last := words[len(words)-1]
		require.That(t, len(words) <= 1 || !slices.Contains(platforms, last), "%s: _%s at the end keeps the file out of other builds: put the word first", s.name, last)
	}
}

// TestPackagesSayWhatTheyAre wants one package comment in every package.
func TestPackagesSayWhatTheyAre(t *testing.T) {
	said := map[string]bool{}
	var dirs []string
	for _, s := range sources(t) {
		if !slices.Contains(dirs, s.dir()) {
			dirs = append(dirs, s.dir())
		}
		doc := s.file.Doc.Text()
		if doc == "" {
			continue
		}
		said[s.dir()] = true
		want := "Package " + s.file.Name.Name + " "
		require.That(t, s.file.Name.Name == "main" || strings.HasPrefix(doc, want), "%s: the package comment should begin with %q", s.name, want)
	}
	for _, dir := range dirs {
		require.That(t, said[dir], "%s: no file has a package comment", dir)
	}
}

// TestExportedNamesAreExplained wants a comment on every exported function,
// method of an exported type, and type.
func TestExportedNamesAreExplained(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			for _, name := range unexplained(d) {
				t.Errorf("%s:%d: exported %s has no comment", s.name, s.line(d.Pos()), name)
			}
		}
	}
}

// unexplained returns the exported names that d declares without a comment.
func unexplained(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			ts, ok := spec.(*ast.TypeSpec)
			if ok && ts.Name.IsExported() && ts.Doc == nil && d.Doc == nil {
				names = append(names, ts.Name.Name)
			}
		}
		return names
	}
	return nil
}

// receiver returns the name of the type that d is a method of.
func receiver(d *ast.FuncDecl) string {
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

// TestFunctionsStayShort holds functions to maxFunc lines.
func TestFunctionsStayShort(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.lines(f) - s.tables(f); n > maxFunc {
				t.Errorf("%s:%d: %s has %d lines, more than %d", s.name, s.line(f.Pos()), f.Name.Name, n, maxFunc)
			}
		}
	}
}

// TestFilesStayShort holds files to maxFile lines.
func TestFilesStayShort(t *testing.T) {
	for _, s := range sources(t) {
		total := s.fset.File(s.file.Pos()).LineCount()
		n := total - s.tables(s.file)
		require.That(t, n <= maxFile, "%s: %d lines, more than %d", s.name, n, maxFile)
	}
}

// TestNoInit wants no work done by being imported.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s:%d: func init: make the value where it is used", s.name, s.line(f.Pos()))
			}
		}
	}
}

// lines counts the lines from the first to the last of n.
func (s *source) lines(n ast.Node) int { return s.line(n.End()) - s.line(n.Pos()) + 1 }

// tables counts the lines of n inside composite and raw string literals of at
// least minTable lines. A literal that holds functions is code.
func (s *source) tables(n ast.Node) int {
	total := 0
	ast.Inspect(n, func(n ast.Node) bool {
		switch lit := n.(type) {
		case *ast.CompositeLit:
			if holdsFunc(lit) {
				return true
			}
		case *ast.BasicLit:
			if lit.Kind != token.STRING {
				return true
			}
		default:
			return true
		}
		if k := s.lines(n); k >= minTable {
			total += k
			return false
		}
		return true
	})
	return total
}

// holdsFunc tells whether a function literal of more than one line is inside n.
func holdsFunc(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok && len(f.Body.List) > 1 {
			found = true
		}
		return !found
	})
	return found
}
