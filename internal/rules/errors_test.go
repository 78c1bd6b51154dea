package rules

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// TestErrorsAreReturned finds functions that meet an error and return none. No test can make every error of a host come, and a
// lost one lets a command end well. A comment on the line says why where none has to be returned.
func TestErrorsAreReturned(t *testing.T) {
	met := 0
	for _, s := range sources(t) {
		var said []int
		for _, group := range s.file.Comments {
			said = append(said, s.line(group.Pos()))
		}
		eachFunction(s.file, func(f *ast.FuncType, body *ast.BlockStmt) {
			if !fails(f) {
				return
			}
			for _, r := range afterErrors(body) {
				met++
				last, _ := r.Results[len(r.Results)-1].(*ast.Ident)
				lost := last != nil && last.Name == "nil"
				require.That(t, !lost || slices.Contains(said, s.line(r.Pos())), "%s:%d: an error ends here: return it, or say on the line why", s.name, s.line(r.Pos()))
			}
		})
	}
	require.That(t, met > 1000, "only %d places return errors that they meet", met)
}

// eachFunction calls f with every function of a file, those without a name among them.
func eachFunction(file *ast.File, f func(*ast.FuncType, *ast.BlockStmt)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				f(n.Type, n.Body)
			}
		case *ast.FuncLit:
			f(n.Type, n.Body)
		}
		return true
	})
}

// fails tells whether the last result of a function is an error.
func fails(f *ast.FuncType) bool {
	if f.Results == nil {
		return false
	}
	last, ok := f.Results.List[len(f.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

// afterErrors returns the returns of a function that stand right in a block of `if err != nil`. Functions within have their own.
func afterErrors(body *ast.BlockStmt) (all []*ast.ReturnStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		_, within := n.(*ast.FuncLit)
		if s, ok := n.(*ast.IfStmt); ok && meetsError(s.Cond) {
			for _, x := range s.Body.List {
				if r, ok := x.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
					all = append(all, r)
				}
			}
		}
		return !within
	})
	return all
}

// meetsError tells whether a condition is `err != nil`.
func meetsError(x ast.Expr) bool {
	b, ok := x.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	l, left := b.X.(*ast.Ident)
	r, right := b.Y.(*ast.Ident)
	return left && right && l.Name == "err" && r.Name == "nil"
}
