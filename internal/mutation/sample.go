package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"

	"kprobesim/internal/mutants"
)

// A mutant is a change of a function, with what people need to find it.
type mutant struct {
	pkg           *pkg
	file          int
	function      string // with its receiver's type: (T).Name
	index         int    // among the declarations of the file
	body          [2]int
	change        change
	line          int
	before, after string
}

// place returns where a mutant is.
func (m *mutant) place(t *tree) string {
	return fmt.Sprintf("%s:%d", path.Join(t.folder(m.pkg), m.pkg.GoFiles[m.file]), m.line)
}

// mutantsOf returns the changes of all functions of a package, those too that do not compile.
func (t *tree) mutantsOf(p *pkg) (all []*mutant) {
	zeros := zerosOf(p.files)
	for i, f := range p.files {
		at := func(pos token.Pos) int { return t.fset.Position(pos).Offset }
		for n, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			for _, c := range changesOf(fn, p.texts[i], zeros, at) {
				m := &mutant{
					pkg: p, file: i, function: nameOf(fn), index: n, change: c,
					body: [2]int{at(fn.Body.Lbrace) + 1, at(fn.Body.Rbrace)},
					line: strings.Count(p.texts[i][:c.from], "\n") + 1,
				}
				m.before, m.after = c.lines(p.texts[i])
				all = append(all, m)
			}
		}
	}
	return all
}

// nameOf returns the name of a function with its receiver's type.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	switch x := of.(type) {
	case *ast.IndexExpr:
		of = x.X
	case *ast.IndexListExpr:
		of = x.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return "(" + id.Name + ")." + f.Name.Name
	}
	return f.Name.Name
}

// sample draws n mutants that compile. Each change of each package is as likely as another, so that packages have mutants
// by the amount of their code.
func (t *tree) sample(all []*mutant, n int, seed uint64) (drawn []*mutant) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, i := range rng.Perm(len(all)) {
		if len(drawn) == n {
			break
		}
		m := all[i]
		if text, ok := m.beside(t); ok && t.compiles(m.pkg, m.file, text, m.index) {
			drawn = append(drawn, m)
		}
	}
	return drawn
}

// beside returns the file with the changed body in a block in front of the body. A body that declares the results of its function
// again does not compile there.
func (m *mutant) beside(t *tree) (text string, ok bool) {
	text = m.pkg.texts[m.file]
	w, ok := m.woven(t)
	if !ok {
		return "", false
	}
	changed := strings.Replace(text[m.body[0]:m.body[1]], w.Old, w.New, 1)
	return text[:m.body[0]] + "\nif 0 == 1 {" + changed + "\n}\n" + text[m.body[0]:], true
}

// label is a label of a function, or a branch to one.
var label = regexp.MustCompile(`(?m)^(\s*)([a-z][A-Za-z0-9]*):\s*$`)

// woven returns a mutant as one that can be compiled beside others. Its old text is as much of the function as the file
// has once, and all of it where the function has labels, which may not stand in it twice.
func (m *mutant) woven(t *tree) (mutants.Mutant, bool) {
	text := m.pkg.texts[m.file]
	from, to := m.change.from, m.change.to
	labels := slices.DeleteFunc(label.FindAllStringSubmatch(text[m.body[0]:m.body[1]], -1), func(l []string) bool { return l[2] == "default" })
	if len(labels) > 0 {
		from, to = m.body[0], m.body[1]
	}
	for strings.Count(text, text[from:to]) > 1 || from == to {
		if from == m.body[0] && to == m.body[1] {
			return mutants.Mutant{}, false
		}
		from, to = max(m.body[0], from-40), min(m.body[1], to+40)
	}
	changed := text[from:m.change.from] + m.change.with + text[m.change.to:to]
	for _, l := range labels {
		changed = regexp.MustCompile(`(?m)(^\s*|break |continue |goto )`+l[2]+`(:?\s*)$`).ReplaceAllString(changed, "${1}"+l[2]+"OfMutant${2}")
	}
	return mutants.Mutant{File: path.Join(t.folder(m.pkg), m.pkg.GoFiles[m.file]), Old: text[from:to], New: changed}, true
}
