package planning

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/internal/doc"
	"kprobesim/targets"
)

// combine completes one combination of a sweep for its copy of the document. A swept instruction set moves the kernel and
// the points, as the setting does, and so does a swept machine of another one. A combination that cannot be, such as a
// machine with the instruction set of another, is left out with a note.
func (p *planner) combine(one *doc.Node, c []doc.Setting) (settings []doc.Setting, possible bool) {
	isa, of := p.isaOf(one, c)
	if isa == nil {
		return p.together(one, c, 0), true
	}
	t := targets.Find(p.l.Targets, isa.Text)
	if of != "" && of != isa.Text && t != nil {
		p.note("left out, as the machine is of another instruction set: isa %s", isa.Text)
		return nil, false
	}
	for _, s := range c {
		if t != nil && !hasValue(t, s.Key(), s.Value.Text) {
			p.note("left out, as %s has none: %s %s", t.Name, s.Key(), s.Value.Text)
			return nil, false
		}
	}
	rest := slices.DeleteFunc(slices.Clone(c), func(s doc.Setting) bool { return s.Key() == schema.PortKey })
	before := p.plan.Moved
	p.plan.Moved = schema.Moved{}
	out, said := p.port(one, append([]doc.Setting{{Path: []string{schema.PortKey}, Value: isa}}, rest...))
	if m := p.plan.Moved; len(m.Points) > 0 {
		p.note("%s: %s, where the experiment says %s: %s", isa.Text, m.Is, m.Was, strings.Join(m.Points, ", "))
	}
	p.plan.Moved = before
	return p.together(one, out, said), said > 0
}

// isaOf returns the instruction set that a combination moves to, nil for that of the file, and the one of a swept machine.
func (p *planner) isaOf(root *doc.Node, c []doc.Setting) (isa *doc.Node, of string) {
	if i := last(c, schema.PortKey); i >= 0 {
		isa = c[i].Value
	}
	i := last(c, "machine")
	if i < 0 {
		return isa, ""
	}
	v := c[i].Value
	m, err := p.l.document("machine", "machines", v.Text, folder(&doc.Node{Pos: v.Pos}))
	if err != nil || m.Get("isa") == nil {
		return isa, "" // a mistake that is reported later
	}
	of = m.Get("isa").Text
	if isa == nil && of != root.Find("kernel", "isa").Text && root.Get("linux") == nil {
		isa = &doc.Node{Kind: doc.String, Text: of, Pos: v.Pos}
	}
	return isa, of
}

// note notes what readers of a table should know, once.
func (p *planner) note(format string, args ...any) {
	p.plan.Notes = distinct.Append(p.plan.Notes, fmt.Sprintf(format, args...))
}
