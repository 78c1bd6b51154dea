package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// source has each form that is changed, and some that are not.
const source = `package p

func (t *T[K]) sum(list []int) (n int, ok bool, err error) {
	for i, x := range list {
		if i < 3 && x != 7 {
			n += x
			continue
		}
		count()
	}
	switch n {
	case 1, 2:
		return n, !t.on, fail()
	case 7:
		return n, false, errors.New("text")
	}
	return 0, true, nil
}

func none() (int, string, bool) { return 0, "", false }

func zero() T { return T{} }

func nothing() {
	x := "text"
	_ = func() string { return x }
}

func failing() (int, bool, error) {
	if err := fail(); err != nil {
		return 5, true, err
	}
	return 6, true, fail()
}

func named() (int, error) { return 5, p.ErrName }

const (
	red T = iota
	blue
)

const green = 0

func first() T { return red }

func second() T { return blue }
`

// parsed is a package of one file, in a tree of its own.
func parsed(t *testing.T, text string) (*tree, *pkg) {
	t.Helper()
	tr := &tree{root: "/tree", fset: token.NewFileSet(), all: map[string]*pkg{}, types: importer.Default()}
	f := require.Must(parser.ParseFile(tr.fset, "p.go", text, parser.SkipObjectResolution))(t)
	return tr, &pkg{ImportPath: "m/p", Dir: "/tree/p", GoFiles: []string{"p.go"}, files: []*ast.File{f}, texts: []string{text}}
}

// Each kind of mistake is made at each place that can have it.
func TestMutantsOf(t *testing.T) {
	tr, p := parsed(t, source)
	var got strings.Builder
	for _, m := range tr.mutantsOf(p) {
		fmt.Fprintf(&got, "%s %d: %s -> %s\n", m.function, m.line, m.before, m.after)
	}
	const want = `(T).sum 5: if i < 3 && x != 7 { -> if !(i < 3 && x != 7) {
(T).sum 5: if i < 3 && x != 7 { -> if i < 3 || x != 7 {
(T).sum 5: if i < 3 && x != 7 { -> if i <= 3 && x != 7 {
(T).sum 5: if i < 3 && x != 7 { -> if i < (3 + 1) && x != 7 {
(T).sum 5: if i < 3 && x != 7 { -> if i < (3 - 1) && x != 7 {
(T).sum 5: if i < 3 && x != 7 { -> if i < 3 && x == 7 {
(T).sum 5: if i < 3 && x != 7 { -> if i < 3 && x != (7 + 1) {
(T).sum 5: if i < 3 && x != 7 { -> if i < 3 && x != (7 - 1) {
(T).sum 6: n += x -> 
(T).sum 7: continue -> 
(T).sum 6: n += x -> n -= x
(T).sum 7: continue -> break
(T).sum 9: count() -> 
(T).sum 12: case 1, 2: -> case 1:
(T).sum 12: case 1, 2: -> case (1 + 1), 2:
(T).sum 12: case 1, 2: -> case (1 - 1), 2:
(T).sum 12: case 1, 2: -> case 1, (2 + 1):
(T).sum 12: case 1, 2: -> case 1, (2 - 1):
(T).sum 13: return n, !t.on, fail() -> return *new(int), !t.on, fail()
(T).sum 13: return n, !t.on, fail() -> return n, !(!t.on), fail()
(T).sum 13: return n, !t.on, fail() -> return n, !t.on, *new(error)
(T).sum 13: return n, !t.on, fail() -> return n, t.on, fail()
(T).sum 14: case 7: -> case (7 + 1):
(T).sum 14: case 7: -> case (7 - 1):
(T).sum 15: return n, false, errors.New("text") -> return n, false, *new(error)
(T).sum 17: return 0, true, nil -> return (0 + 1), true, nil
(T).sum 17: return 0, true, nil -> return 0, false, nil
none 20: func none() (int, string, bool) { return 0, "", false } -> func none() (int, string, bool) { return 0, "", true }
nothing 26: _ = func() string { return x } -> 
failing 30: if err := fail(); err != nil { -> if err := fail(); !(err != nil) {
failing 30: if err := fail(); err != nil { -> if err := fail(); err == nil {
failing 33: return 6, true, fail() -> return (6 + 1), true, fail()
failing 33: return 6, true, fail() -> return (6 - 1), true, fail()
failing 33: return 6, true, fail() -> return *new(int), true, fail()
failing 33: return 6, true, fail() -> return 6, false, fail()
failing 33: return 6, true, fail() -> return 6, true, *new(error)
named 36: func named() (int, error) { return 5, p.ErrName } -> func named() (int, error) { return 5, *new(error) }
second 47: func second() T { return blue } -> func second() T { return *new(T) }
`
	lines := func(s string) []string { return slices.Sorted(strings.Lines(s)) }
	require.That(t, slices.Equal(lines(got.String()), lines(want)), "the changes are\n%s\nwant\n%s", got.String(), want)
}

// Mutants that the compiler refuses are not drawn, and the seed says which of the others are.
func TestSample(t *testing.T) {
	tr, p := parsed(t, `package p

func abs(x int) int {
	var text string
	if x < 0 {
		text = "a" + "b"
		return -x
	}
	return x + len(text)
}

func again() (x int, err error) {
	y, err := abs(1), error(nil)
	return x + y, err
}

func other() { undefined() }
`)
	all := tr.mutantsOf(p)
	if n := len(tr.sample(all[:len(all)-1], 1000, 1)); n != len(all)-5 { // the last is in the function that is wrong anyway
		t.Errorf("%d of %d compile: all but one that subtracts texts, and three that leave a variable unused", n, len(all)-1)
	}
	order := func(seed uint64) (places []int) {
		for _, m := range tr.sample(all, 4, seed) {
			places = append(places, m.change.from)
		}
		return places
	}
	if a, b, c := order(1), order(1), order(2); len(a) != 4 || !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("drawn are %v, %v again, and %v with another seed", a, b, c)
	}
}

// The old text of a mutant is in its file once, and a function with labels is taken in whole, under other labels.
func TestWoven(t *testing.T) {
	const text = `package p

func a(x int) int {
	x++
	return x
}

func b(x int) int {
	x++
	return x * 2
}

func c(x int) int {
	x++
	return x
}

func d(x int) {
again:
	for x < 9 {
		switch x++; x {
		default:
			continue again
		}
	}
}
`
	tr, p := parsed(t, text)
	woven := 0
	for _, m := range tr.mutantsOf(p) {
		w, ok := m.woven(tr)
		if !ok {
			if m.function != "a" && m.function != "c" { // which are the same
				t.Errorf("%s: %s is not woven", m.function, m.after)
			}
			continue
		}
		woven++
		require.That(t, strings.Count(text, w.Old) == 1 && w.File == "p/p.go", "%s: %q is not once in %s", m.function, w.Old, w.File)
		changed := strings.Replace(text, w.Old, w.New, 1)
		if m.function == "d" {
			require.That(t, !strings.Contains(w.New, "again:") && strings.Contains(w.New, "againOfMutant:") && !strings.Contains(w.New, "defaultOfMutant"), "the label stands in %s", w.New)
			changed = strings.ReplaceAll(changed, "againOfMutant", "again")
		}
		if changed != m.change.apply(text) {
			t.Errorf("woven is\n%s\nwant\n%s", changed, m.change.apply(text))
		}
	}
	require.That(t, woven != 0, "nothing is woven")
}

// Tests of a package are asked first, then tests of the packages that import it, and with few only packages of its house.
func TestTesters(t *testing.T) {
	main := &struct{ Main bool }{true}
	tr := &tree{root: "/r", all: map[string]*pkg{}}
	for _, p := range []*pkg{
		{ImportPath: "m/a", Dir: "/r/a", TestGoFiles: []string{"x"}},
		{ImportPath: "m/a/b", Dir: "/r/a/b", Deps: []string{"m/a"}, TestGoFiles: []string{"x"}},
		{ImportPath: "m/c", Dir: "/r/c", XTestImports: []string{"m/a/b"}, XTestGoFiles: []string{"x"}},
		{ImportPath: "m/d", Dir: "/r/d", Deps: []string{"m/a"}},
		{ImportPath: "m/e", Dir: "/r/e", TestGoFiles: []string{"x"}},
		{ImportPath: "m/atest", Dir: "/r/atest", Deps: []string{"m/a"}, TestGoFiles: []string{"x"}},
		{ImportPath: "m/internal/tests", Dir: "/r/internal/tests", Deps: []string{"m/a"}, TestGoFiles: []string{"x"}},
	} {
		p.Module, p.GoFiles = main, []string{"x.go"}
		tr.all[p.ImportPath] = p
	}
	for few, want := range map[bool][]string{false: {"a", "a/b", "c"}, true: {"a", "a/b"}} {
		got := tr.testers(tr.all["m/a"], few)
		require.That(t, slices.Equal(got, want), "few is %v: %q, want %q", few, got, want)
	}
	if got := tr.testers(tr.all["m/d"], false); len(got) != 0 {
		t.Errorf("of a package that nobody tests: %q", got)
	}
}

// TestEquivalents wants each mutant of the list to be one that is made, so that an entry goes with its code.
func TestEquivalents(t *testing.T) {
	known, err := readEquivalents("equivalent.mutants")
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	made := map[string][]*mutant{}
	tr := &tree{root: root, fset: token.NewFileSet()}
	for _, e := range known {
		if made[e.pkg] == nil {
			p := &pkg{Dir: filepath.Join(root, e.pkg)}
			files, _ := filepath.Glob(filepath.Join(p.Dir, "*.go"))
			for _, f := range files {
				if !strings.HasSuffix(f, "_test.go") {
					p.GoFiles = append(p.GoFiles, filepath.Base(f))
				}
			}
			require.NoError(t, tr.parse(p))
			made[e.pkg] = tr.mutantsOf(p)
		}
		require.That(t, slices.ContainsFunc(made[e.pkg], func(m *mutant) bool { return e.of(tr, m) }), "%s, %s: no mutant has %q for %q: remove the entry, or write the line as it is now", e.pkg, e.function, e.after, e.before)
		require.That(t, e.reason != "", "%s, %s: %q has no reason", e.pkg, e.function, e.after)
	}
}

func TestReadEquivalents(t *testing.T) {
	for text, want := range map[string]string{
		"# none\n": "", "in a\nof f\n- x\n+\nbecause y\n": "",
		"of f\n":                      "begins with",
		"in a\nof f\n- x\n+ y\nsince": "begins with",
		"in a\nof f\n- x\n":           "3 lines of five",
	} {
		file := filepath.Join(t.TempDir(), "list")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		all, err := readEquivalents(file)
		if want == "" && (err != nil || strings.Contains(text, "in a") != (len(all) == 1)) {
			t.Errorf("%q: %v, %v", text, all, err)
		} else if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What is long is asked of the package alone, behind all its other tests. Baselines take less than importers.
func TestStages(t *testing.T) {
	for want, o := range map[string]options{
		"its package, importers": {}, "its package": {alone: true}, "its package, the gate's tests of its package, the gate's baselines": {alone: true, long: true},
		"its package, the gate's tests of its package, the gate's baselines, importers": {long: true},
	} {
		var names []string
		for i, s := range o.stages() {
			names = append(names, s.name)
			require.That(t, s.long == (o.long && i == 1) && (s.whose == importers) == (s.name == "importers"), "stage %d of %+v: %+v", i, o, s)
		}
		require.Equal(t, strings.Join(names, ", "), want, "stages")
	}
}

// Mistakes of the command line are errors.
func TestOptions(t *testing.T) {
	t.Chdir("../..")
	for _, args := range [][]string{{"-x"}, {"-equivalent", "none"}, {"-packages", "none"}} {
		var out bytes.Buffer
		require.That(t, run(t.Context(), args, &out) != nil, "%q: no error; %s", args, out.String())
	}
}

// The tester finds mutants of a small package that its tests notice, and prints the others.
func TestRun(t *testing.T) {
	hosttools.Long(t, "mutants of a package from beginning to end", "the parts of the tester have tests")
	t.Chdir("../..")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-packages", "internal/clock", "-n", "4", "-short", "-equivalent", os.DevNull}, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.That(t, strings.HasPrefix(lines[0], "4 mutants of ") && strings.Contains(lines[len(lines)-1], "of 4 noticed") && !strings.Contains(out.String(), "0 of 4"), "it prints\n%s", out.String())
}

// The test of the baselines is where the tester looks for it, and waits for the variable.
func TestBaselinesAreThere(t *testing.T) {
	folder, name, _ := strings.Cut(baselinesTest, ".")
	text := ""
	for _, file := range require.Must(filepath.Glob(filepath.Join("..", "..", folder, "*_test.go")))(t) {
		text += string(require.Must(os.ReadFile(file))(t))
	}
	for _, part := range []string{"func " + name + "(t *testing.T) {", `os.Getenv("` + baselinesEnvironment + `")`} {
		require.That(t, strings.Contains(text, part), "no test of %s has %s", folder, part)
	}
}
