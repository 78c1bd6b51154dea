package rules

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestRaceDetectorSeesGoroutines holds the lists of the Makefile. A package that starts goroutines, or whose tests do,
// stands in RACE, or in RACEFEW with one of its tests that start them in RACETESTS. A runner with several workers starts them for its
// package. Tests in RACESKIP start none.
func TestRaceDetectorSeesGoroutines(t *testing.T) {
	makefile := read(t, "Makefile")
	names := func(of string) []string {
		return strings.FieldsFunc(variable(makefile, of), func(c rune) bool { return strings.ContainsRune("^$(|)'", c) })
	}
	named := names("RACETESTS")
	whole, few := strings.Fields(variable(makefile, "RACE")), strings.Fields(variable(makefile, "RACEFEW"))
	starting := startingGoroutines(t)
	for _, dir := range quicker {
		require.That(t, starting[dir] != nil, "%s starts no goroutines, and is left out as if it did", dir)
		delete(starting, dir)
	}
	for dir, tests := range starting {
		if slices.ContainsFunc(whole, func(p string) bool { return matches(p, dir) }) {
			continue
		}
		require.That(t, slices.Contains(few, "./"+dir) && slices.ContainsFunc(named, func(n string) bool { return slices.Contains(tests, n) }), "%s starts goroutines in %q, and neither RACE nor RACEFEW with RACETESTS of the Makefile has it", dir, tests)
	}
	for _, p := range few {
		dir := strings.TrimPrefix(p, "./")
		require.That(t, starting[dir] != nil, "%s is on a list of packages that start goroutines, and starts none", dir)
	}
	for _, name := range names("RACESKIP") {
		dirs := having(t, name)
		require.Need(t, len(dirs) == 1, "the race detector passes by %s, which is a test of %q and not of one package", name, dirs)
		require.That(t, !slices.Contains(starting[dirs[0]], name), "the race detector passes by %s, which starts goroutines itself", name)
	}
}

// quicker are packages with runners of several workers whose tests take minutes under the detector. Their points run side by side
// elsewhere: our kernels in experiments and experiments/reports, machines of one lab in distro/measuring.
var quicker = []string{"experiments/kinds"}

// having returns the folders with a function of a name.
func having(t *testing.T, name string) (dirs []string) {
	t.Helper()
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
				dirs = append(dirs, s.dir())
			}
		}
	}
	return dirs
}

// variable returns the value of a variable of a Makefile.
func variable(makefile, name string) string {
	m := regexp.MustCompile(`(?m)^` + name + `\s*:= (.*)$`).FindStringSubmatch(makefile)
	if m == nil {
		return ""
	}
	return m[1]
}

// matches tells whether a pattern of packages, ./a or ./a/..., holds a folder.
func matches(pattern, dir string) bool {
	below, all := strings.CutSuffix(pattern, "/...")
	return pattern == "./"+dir || all && strings.HasPrefix("./"+dir+"/", below+"/")
}

// startingGoroutines returns the functions that start goroutines, by folder.
func startingGoroutines(t *testing.T) map[string][]string {
	t.Helper()
	starting := map[string][]string{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if starts(n) {
					starting[s.dir()] = append(starting[s.dir()], f.Name.Name)
				}
				return true
			})
		}
	}
	return starting
}

// starts tells whether a part of a function starts a goroutine: by a go statement, by the Go of a group, because
// tests run side by side, or by a runner with several workers.
func starts(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CompositeLit:
		return n.Type != nil && types.ExprString(n.Type) == "running.Runner" && !slices.ContainsFunc(n.Elts, oneWorker)
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return ok && f.Sel.Name == "Parallel"
	}
	_, function := call.Args[0].(*ast.FuncLit)
	return function && f.Sel.Name == "Go"
}

// oneWorker tells whether a field of a runner gives it one worker.
func oneWorker(field ast.Expr) bool {
	f, ok := field.(*ast.KeyValueExpr)
	return ok && types.ExprString(f.Key) == "Workers" && types.ExprString(f.Value) == "1"
}
