package rules

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// way is a list of functions in DESIGN.md, each of a package below this module: a function, or a method behind its type.
type way struct {
	title string
	steps []step
}

// step is one function of a way.
type step struct{ dir, recv, name string }

func (s step) String() string {
	return strings.Join(slices.DeleteFunc([]string{s.dir, s.recv, s.name}, func(w string) bool { return w == "" }), ".")
}

// ways reads the lists below the headings "The way of".
func ways(t *testing.T) (all []way) {
	t.Helper()
	for line := range strings.Lines(read(t, "DESIGN.md")) {
		title, is := strings.CutPrefix(line, "### The way of ")
		switch m := found("^[0-9]+\\. `([^`]+)`", line); {
		case is:
			all = append(all, way{title: strings.TrimSpace(title)})
		case strings.HasPrefix(line, "#") && len(all) > 0 && all[len(all)-1].title != "":
			all = append(all, way{})
		case len(m) > 0 && len(all) > 0:
			w := &all[len(all)-1]
			w.steps = append(w.steps, stepOf(t, m[0]))
		}
	}
	return slices.DeleteFunc(all, func(w way) bool { return w.title == "" || w.steps == nil })
}

// stepOf takes the name of a function apart: its package by the last word of the path, the type of a method, and its own.
func stepOf(t *testing.T, text string) step {
	t.Helper()
	words := strings.Split(text, ".")
	s := step{name: words[len(words)-1]}
	if len(words) > 2 {
		s.recv = words[1]
	}
	for _, src := range sources(t) {
		if path.Base(src.dir()) == words[0] && !src.test() {
			s.dir = src.dir()
		}
	}
	return s
}

// TestWaysAreTrue wants every function of a way to be there, and to be called by one before it, directly or by way of
// functions of that one's package. A command of the program is the caller of all that its package names.
func TestWaysAreTrue(t *testing.T) {
	list := ways(t)
	require.Need(t, len(list) != 0, "DESIGN.md has no way")
	for _, w := range list {
		for i, s := range w.steps {
			require.That(t, len(functions(t, s)) != 0, "the way of %s: there is no function %s", w.title, s)
			require.That(t, i <= 0 || slices.ContainsFunc(w.steps[:i], func(from step) bool { return reaches(t, from, s) }), "the way of %s: nothing before it calls %s", w.title, s)
		}
	}
}

// TestWaysGoForward wants no way to come back to a package that it has left.
func TestWaysGoForward(t *testing.T) {
	for _, w := range ways(t) {
		var left []string
		for i, s := range w.steps {
			if i > 0 && s.dir != w.steps[i-1].dir {
				left = append(left, w.steps[i-1].dir)
			}
			require.That(t, !slices.Contains(left, s.dir), "the way of %s comes back to %s at %s", w.title, s.dir, s)
		}
	}
}

// functions are the declarations of a step, of which build constraints may choose one.
func functions(t *testing.T, s step) (all []*ast.FuncDecl) {
	t.Helper()
	for _, f := range declared(t, s.dir) {
		if f.Name.Name == s.name && recvOf(f) == s.recv {
			all = append(all, f)
		}
	}
	return all
}

// recvOf is the type that a method belongs to, "" for a function.
func recvOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return receiver(f)
}

// declared are the functions of a package, without its tests.
func declared(t *testing.T, dir string) (all []*ast.FuncDecl) {
	t.Helper()
	for _, s := range sources(t) {
		if s.dir() != dir || s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// reaches reports whether a function names another one, or a function of its package that does. Names decide: a type
// checker would take a minute.
func reaches(t *testing.T, from, to step) bool {
	t.Helper()
	all := declared(t, from.dir)
	next, seen := functions(t, from), map[*ast.FuncDecl]bool{}
	if strings.HasPrefix(from.dir, "cmd/") {
		next = all
	}
	for len(next) > 0 {
		f := next[0]
		next = next[1:]
		if seen[f] {
			continue
		}
		seen[f] = true
		names, direct := calls(f, from.dir, to)
		if direct {
			return true
		}
		for _, g := range all {
			if names[g.Name.Name] {
				next = append(next, g)
			}
		}
	}
	return false
}

// calls returns the names that a function uses, and whether another one is among them: as it is named in the package, or
// behind a selector elsewhere.
func calls(f *ast.FuncDecl, dir string, to step) (names map[string]bool, direct bool) {
	names = map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			names[x.Sel.Name] = true
			of, _ := x.X.(*ast.Ident)
			method := to.recv != "" || of != nil && of.Name == path.Base(to.dir)
			direct = direct || x.Sel.Name == to.name && method
		case *ast.Ident:
			names[x.Name] = true
		}
		return true
	})
	return names, direct || dir == to.dir && names[to.name]
}
