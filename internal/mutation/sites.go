package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A change is one mutant of a function: a range of its file, by offsets, and what stands there instead.
type change struct {
	from, to int
	with     string
}

// swaps are operators that are taken for each other.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
	token.SHL: token.SHR, token.SHR: token.SHL,
	token.INC: token.DEC, token.DEC: token.INC,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN,
	token.AND_ASSIGN: token.OR_ASSIGN, token.XOR_ASSIGN: token.OR_ASSIGN, token.MUL_ASSIGN: token.ADD_ASSIGN,
	token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK,
}

// finder collects the changes of a function.
type finder struct {
	text    string
	at      func(token.Pos) int
	results *ast.FieldList
	zeros   []string // constants of the package that are the first of their kind
	idle    [][2]int // zeros beside false and values beside an error, which no caller looks at
	lost    []int    // errors that a block of `if err != nil` returns
	all     []change
}

// zerosOf returns the names of constants that an iota begins with.
func zerosOf(files []*ast.File) (names []string) {
	for _, f := range files {
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			first := group.Specs[0].(*ast.ValueSpec)
			if n, ok := first.Values[0].(*ast.Ident); ok && n.Name == "iota" {
				names = append(names, first.Names[0].Name)
			}
		}
	}
	return names
}

// changesOf returns the changes of a function of a file whose text and positions are given, and some constants that are zero. Some
// changes do not compile.
func changesOf(f *ast.FuncDecl, text string, zeros []string, at func(token.Pos) int) []change {
	s := &finder{text: text, zeros: zeros, at: at, results: f.Type.Results}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		s.node(n)
		_, nested := n.(*ast.FuncLit)
		if nested {
			s.results = nil // what a function within returns is negated or kept
		}
		return true
	})
	return s.all
}

func (s *finder) put(from, to token.Pos, with string) {
	c := change{s.at(from), s.at(to), with}
	if !slices.ContainsFunc(s.idle, func(r [2]int) bool { return r[0] <= c.from && c.to <= r[1] }) {
		s.all = append(s.all, c)
	}
}

// of returns the text of a node.
func (s *finder) of(n ast.Node) string { return s.text[s.at(n.Pos()):s.at(n.End())] }

// swap puts an operator in the place of another.
func (s *finder) swap(at token.Pos, op token.Token) {
	if to, ok := swaps[op]; ok {
		s.put(at, at+token.Pos(len(op.String())), to.String())
	}
}

// node finds the changes of one node, and not of the nodes in it.
func (s *finder) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		s.put(n.Cond.Pos(), n.Cond.End(), "!("+s.of(n.Cond)+")")
		s.failed(n)
	case *ast.BinaryExpr:
		s.swap(n.OpPos, n.Op)
	case *ast.IncDecStmt:
		s.swap(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		s.swap(n.TokPos, n.Tok)
	case *ast.BranchStmt:
		s.swap(n.TokPos, n.Tok)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB || n.Op == token.XOR {
			s.put(n.OpPos, n.X.Pos(), "")
		}
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			s.put(n.Pos(), n.End(), strconv.FormatBool(n.Name == "false"))
		}
	case *ast.BasicLit:
		s.literal(n)
	case *ast.ReturnStmt:
		s.returned(n)
	case *ast.BlockStmt:
		s.statements(n.List)
	case *ast.CaseClause:
		s.statements(n.Body)
		if len(n.List) > 1 {
			s.put(n.List[len(n.List)-2].End(), n.List[len(n.List)-1].End(), "")
		}
	}
}

// literal changes a whole number by one.
func (s *finder) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	s.put(n.Pos(), n.End(), "("+n.Value+" + 1)")
	if n.Value != "0" {
		s.put(n.Pos(), n.End(), "("+n.Value+" - 1)")
	}
}

// returned returns no error, or a zero value, or the contrary of a condition. Values beside an error are nothing that a caller
// may look at.
func (s *finder) returned(n *ast.ReturnStmt) {
	for i, x := range n.Results {
		if s.of(x) == "0" && s.of(n.Results[len(n.Results)-1]) == "false" || i < len(n.Results)-1 && s.fails(n) {
			s.idle = append(s.idle, [2]int{s.at(x.Pos()), s.at(x.End())})
		}
	}
	if s.results == nil || len(n.Results) != s.results.NumFields() {
		return
	}
	var types []ast.Expr
	for _, f := range s.results.List {
		for range max(1, len(f.Names)) {
			types = append(types, f.Type)
		}
	}
	for i, x := range n.Results {
		switch of := s.of(types[i]); {
		case s.of(x) == "nil" || s.of(x) == "0" || s.of(x) == `""` || s.of(x) == "true" || s.of(x) == "false" || s.of(x) == of+"{}":
		case of == "bool":
			s.put(x.Pos(), x.End(), "!("+s.of(x)+")")
		case slices.Contains(s.zeros, s.of(x)):
		case of != "error" || !slices.Contains(s.lost, s.at(x.Pos())):
			s.put(x.Pos(), x.End(), "*new("+of+")")
		}
	}
}

// failed notes what is returned where there is an error: the values beside it, which no caller looks at, and the error itself, without
// which internal/rules (TestErrorsAreReturned) refuses the function.
func (s *finder) failed(n *ast.IfStmt) {
	if s.of(n.Cond) != "err != nil" {
		return
	}
	for _, x := range n.Body.List {
		r, ok := x.(*ast.ReturnStmt)
		if !ok || len(r.Results) == 0 {
			continue
		}
		last := r.Results[len(r.Results)-1]
		if len(r.Results) > 1 && s.of(last) == "err" {
			s.idle = append(s.idle, [2]int{s.at(r.Results[0].Pos()), s.at(r.Results[len(r.Results)-2].End())})
		}
		s.lost = append(s.lost, s.at(last.Pos()))
	}
}

// fails tells whether a statement returns an error for sure: a new one, or one that has a name.
func (s *finder) fails(n *ast.ReturnStmt) bool {
	last := n.Results[len(n.Results)-1]
	call, ok := last.(*ast.CallExpr)
	return ok && (s.of(call.Fun) == "fmt.Errorf" || s.of(call.Fun) == "errors.New") || namedError.MatchString(s.of(last))
}

// namedError matches the name of an error that a package declares.
var namedError = regexp.MustCompile(`^(\w+\.)?[Ee]rr[A-Z]\w*$`)

// statements leaves out one of several statements. A declaration does not count, and a branch does.
func (s *finder) statements(list []ast.Stmt) {
	for _, x := range list {
		switch x := x.(type) {
		case *ast.AssignStmt:
			if x.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt, *ast.BranchStmt, *ast.GoStmt:
		default:
			continue
		}
		s.put(x.Pos(), x.End(), "")
	}
}

// apply returns a text with the change.
func (c change) apply(text string) string { return text[:c.from] + c.with + text[c.to:] }

// lines returns the lines that a change is in, before and after it, with one space for each gap.
func (c change) lines(text string) (before, after string) {
	begin := strings.LastIndexByte(text[:c.from], '\n') + 1
	end := c.to + strings.IndexByte(text[c.to:]+"\n", '\n')
	before, after = text[begin:end], text[begin:c.from]+c.with+text[c.to:end]
	return strings.Join(strings.Fields(before), " "), strings.Join(strings.Fields(after), " ")
}
