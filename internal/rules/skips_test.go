package rules

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reasons are how the text of a skipped test may begin outside internal/hosttools. What is left out for want of a tool
// or a host goes through that package, so that a run of all tests ends with the list of it.
var reasons = []string{"with -short: ", "on demand: ", "does not apply: "}

// TestSkipsSayWhy holds every test that is skipped against the list, so that none is left out in silence.
func TestSkipsSayWhy(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir() == "internal/hosttools" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && skips(call) && !saysWhy(call) {
				t.Errorf("%s:%d: the text of a skipped test begins with one of %q, or internal/hosttools skips it", s.name, s.line(call.Pos()), reasons)
			}
			return true
		})
	}
}

// skips tells whether a call skips a test. SkipNow stands behind calls that have said why (hosttools.Without).
func skips(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "Skip" || f.Sel.Name == "Skipf") && len(call.Args) > 0
}

// saysWhy tells whether the first text of a call is one of the reasons.
func saysWhy(call *ast.CallExpr) bool {
	arg := call.Args[0]
	for sum, ok := arg.(*ast.BinaryExpr); ok; sum, ok = arg.(*ast.BinaryExpr) {
		arg = sum.X
	}
	text, ok := arg.(*ast.BasicLit)
	if !ok {
		return false
	}
	said, _ := strconv.Unquote(text.Value)
	return slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(said, r) })
}
