package planning

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/internal/doc"
	"kprobesim/results"
)

// Collection is an experiment file without points of its own: it runs the points of other files and reports
// them together.
type Collection struct {
	Name, Title string
	Collect     []string // names or paths of the other files
	Differences []schema.Difference
	Figures     []string
	Wish        results.Wish // the table [figure]
}

// maxCollected bounds the files of one collection.
const maxCollected = 64

// isCollection tells a file that collects others from one with points of its own.
func isCollection(root *doc.Node) bool { return root.Get("collect") != nil }

// readCollection reads the collection in root.
func readCollection(root *doc.Node, errs *doc.Errors) *Collection {
	r := doc.NewReader(root, errs)
	c := &Collection{
		Name:    doc.Need(r, "name", doc.Name),
		Title:   doc.Need(r, "title", doc.Text),
		Collect: doc.Need(r, "collect", doc.ListOf(doc.Text)),
		Figures: doc.Opt(r, "figures", nil, doc.ListOf(doc.OneOf(allFigures()...))),
	}
	if part := r.Part("figure"); part != nil {
		c.Wish = schema.ReadWish(part)
		c.Figures = append(c.Figures, FigureWished)
	}
	r.Has("base") // read by the loader
	if n := len(c.Collect); n > maxCollected {
		r.Errorf("collect", "%d files: at most %d", n, maxCollected)
	} else if list := root.Get("collect"); n == 0 && list != nil && list.Kind == doc.Array && len(list.Items) == 0 {
		r.Errorf("collect", "name at least one experiment")
	}
	for _, s := range r.List("differences") {
		c.Differences = append(c.Differences, schema.ReadDifference(s))
	}
	r.Done()
	return c
}

// collectionKeys are the keys whose settings are for the collection; others are for every file that it
// collects.
func collectionKeys() []string {
	return []string{"name", "title", "collect", "figure", "figures", "differences"}
}

// collect plans the experiments of a collection, each as it would be alone, with the settings that are
// not for the collection itself.
func (p *planner) collect(root *doc.Node, settings []doc.Setting) {
	root = root.Clone()
	var inner []doc.Setting
	for _, s := range settings {
		if slices.Contains(collectionKeys(), s.Path[0]) {
			p.errs.Join(s.Value.Pos, s.Apply(root))
		} else {
			inner = append(inner, s)
		}
	}
	c := readCollection(root, &p.errs)
	p.plan.Name, p.plan.Title, p.plan.Figures = c.Name, c.Title, c.Figures
	p.plan.Differences, p.plan.Wish = c.Differences, c.Wish
	if file := at(root, "title").File; c.Wish.Title == "" && filepath.Dir(file) != "experiments" { // as of other experiments
		p.plan.Wish.Title = c.Title
	}
	for _, s := range inner {
		if slices.Equal(s.Path, []string{schema.PortKey}) && len(c.Differences) > 0 {
			p.errs.Add(s.Value.Pos, "isa: %s compares published figures, which belong to their machines: move an experiment that it "+
				"collects, such as %s", c.Name, c.Collect[0])
			return
		}
	}
	for i, name := range c.Collect[:min(len(c.Collect), maxCollected)] {
		p.part(root.Find("collect").Items[i].Pos, name, folder(root, "collect"), inner)
	}
	if len(p.errs) == 0 {
		p.checkDifferences()
		p.checkFigures(root)
	}
}

// checkFigures holds each figure to a kind that is collected. A figure of another kind than overhead shows one experiment.
func (p *planner) checkFigures(root *doc.Node) {
	of := map[string][]string{} // experiments by their kinds
	for i := range p.plan.Points {
		pt := &p.plan.Points[i]
		of[pt.Kind] = distinct.Append(of[pt.Kind], pt.Experiment)
	}
	for _, name := range p.plan.Figures {
		kind := kindOfFigure(name)
		switch n := len(of[kind]); {
		case name == FigureWished, kind == schema.KindOverhead && n > 0 && name != "calls", n == 1:
		case n == 0:
			p.errs.Add(at(root, "figures"), "figures: %q is of kind %s: no such experiment is collected", name, kind)
		default:
			p.errs.Add(at(root, "figures"), "figures: %q shows one experiment of kind %s, and these are collected: %s; draw them together by a table [figure]",
				name, kind, strings.Join(of[kind], ", "))
		}
	}
}

// part plans one experiment of a collection, which the collection names at pos.
func (p *planner) part(pos doc.Pos, name, base string, settings []doc.Setting) {
	root, err := p.l.document("experiment", ".", name, base)
	if err != nil {
		p.errs.Join(pos, err)
		return
	}
	if isCollection(root) {
		p.errs.Add(pos, "collect: %s collects experiments itself: name those", name)
		return
	}
	one := &planner{l: p.l, plan: &schema.Plan{File: root.Pos.File}, collected: true}
	one.expand(root, settings)
	p.errs = append(p.errs, one.errs...)
	if p.plan.Kind = cmp.Or(p.plan.Kind, one.plan.Kind); p.plan.Kind != one.plan.Kind {
		p.plan.Kind = schema.KindCollected
	}
	if slices.Contains(p.plan.Collected, one.plan.Name) {
		p.errs.Add(pos, "collect: experiment %q is there twice", one.plan.Name)
	}
	p.plan.Collected = append(p.plan.Collected, one.plan.Name)
	if m := one.plan.Moved; len(m.Points) > 0 {
		for i, name := range m.Points {
			m.Points[i] = one.plan.Name + ":" + name
		}
		m.Points = append(p.plan.Moved.Points, m.Points...)
		m.Left = p.plan.Moved.Left
		p.plan.Moved = m
	}
	for _, left := range one.plan.Moved.Left {
		p.plan.Moved.Left = append(p.plan.Moved.Left, one.plan.Name+": "+left)
	}
	p.plan.Seed, p.plan.Axes = one.plan.Seed, append(p.plan.Axes, one.plan.Axes...)
	for _, pt := range one.plan.Points {
		pt.Name = pt.Experiment + ":" + pt.Name
		p.plan.Points = append(p.plan.Points, pt)
	}
	if len(p.plan.Points) > mostPoints {
		p.errs.Add(pos, "collect: more than %d points; each replicate of a point counts", mostPoints)
	}
}

// checkDifferences holds every difference to figures that were published, otherwise it would be missing
// in the table without a word, and to being asked for once.
func (p *planner) checkDifferences() {
	seen := map[string]doc.Pos{}
	for _, d := range p.plan.Differences {
		pairs := p.plan.Pairs(d)
		for _, pr := range pairs {
			name := pr.Of.Name + " - " + pr.Less.Name
			if first, twice := seen[name]; twice {
				p.errs.Add(d.Pos, "differences: %s is also asked for at %s: leave one out", name, first)
				break
			}
			seen[name] = d.Pos
		}
		if len(pairs) == 0 {
			p.errs.Add(d.Pos, "differences: no collected experiment%s has published figures of both %s and %s",
				ofEra(d.Era), d.Of, d.Less)
		}
	}
}

func ofEra(era string) string {
	if era == "" {
		return ""
	}
	return " of era " + era
}
