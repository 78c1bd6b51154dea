package planning

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/distinct"
	"kprobesim/internal/doc"
	"kprobesim/machines"
	"kprobesim/results"
)

// measured is the setup that published figures were measured on: the file that states them, without the
// settings, sweeps and files on top of it.
type measured struct {
	root    *doc.Node
	e       *schema.Experiment
	machine *machines.Machine
	point   *schema.Point // kernel as it is booted
	same    map[*machines.Machine]bool
}

// claim says what a point may claim: the role of its figures, and by what it differs from the setup
// that its published figure was measured on. A point without a published figure claims nothing.
func (p *planner) claim(root *doc.Node, pt *schema.Point, i int, machine []doc.Setting) {
	probe := &pt.Probe
	stated := probe.Role
	probe.Role = results.Simulated
	if probe.Published == nil || pt.Kind != schema.KindOverhead {
		if stated != "" && probe.Published == nil {
			p.errs.Add(at(root, "points", fmt.Sprint(i), "role"),
				"points.%s.role: no figure is published for this point: leave the role out", probe.Name)
		}
		return
	}
	ref := p.measuredOn(root, i)
	if ref == nil {
		return // its file has mistakes, which were reported
	}
	pt.Differs = ref.setup(root, pt)
	hardware, model := ref.numbers(pt, machine)
	pt.Differs, pt.Remodelled = append(pt.Differs, hardware...), model
	if len(pt.Differs)+len(pt.Remodelled) > 0 {
		return
	}
	p.setRole(root, pt, i, stated, ref)
}

// setRole derives the role of a point that is as it was measured, and holds what the file says against
// it.
func (p *planner) setRole(root *doc.Node, pt *schema.Point, i int, stated results.Role, ref *measured) {
	role, m := results.Predicted, pt.Machine
	own := m.CalibratedBy(ref.e.Name, ref.root.Pos.File)
	if own && slices.Contains(m.FittedOn(), pt.Probe.Name) {
		role = results.Fitted
	}
	if own && stated != "" && stated != role {
		p.errs.Add(at(root, "points", fmt.Sprint(i), "role"),
			"points.%s.role: the file says %s, but by machine %s the point is %s",
			pt.Probe.Name, stated, m.Name, role)
	}
	if !own && stated != "" {
		role = stated // the file knows better: it has figures of its own
	}
	pt.Probe.Role = role
}

// measuredOn returns the setup of the file that states the published figure of point i.
func (p *planner) measuredOn(root *doc.Node, i int) *measured {
	file := root.Find("points", fmt.Sprint(i), "published").Pos.File
	pristine := p.l.layers[file]
	if pristine == nil {
		pristine = p.pristine
	}
	if ref, ok := p.references[pristine]; ok {
		return ref
	}
	if p.references == nil {
		p.references = map[*doc.Node]*measured{}
	}
	p.references[pristine] = p.reference(pristine)
	return p.references[pristine]
}

// reference reads a file as it stands. The experiment reports its mistakes; its inputs are not
// inputs of the plan, as no result depends on them.
func (p *planner) reference(root *doc.Node) *measured {
	inputs := slices.Clone(p.l.inputs)
	defer func() { p.l.inputs = inputs }()
	var errs doc.Errors
	ref := &measured{root: root, e: readExperiment(root, &errs), same: map[*machines.Machine]bool{}}
	if len(errs) > 0 {
		return nil
	}
	m, err := p.l.Machine(ref.e.Machine, folder(root, "machine"), nil)
	if err != nil {
		return nil
	}
	im, err := p.l.image(ref.e.Kernel, folder(root, "kernel", "image"))
	if err != nil {
		return nil
	}
	ref.machine = m
	ref.point = &schema.Point{Kernel: ref.e.Kernel}
	if err := ref.point.Kernel.CheckPreempt(im.Image); err != nil {
		return nil
	}
	return ref
}

// setup lists by what kernel, workload and probe differ. The amount of memory and the number of calls
// are left out, as a figure is for one call; calls that are not warm are another matter.
func (ref *measured) setup(root *doc.Node, pt *schema.Point) []string {
	var out []string
	k, was := pt.Kernel, ref.point.Kernel
	k.Memory, was.Memory = 0, 0
	if k != was {
		out = append(out, ref.keys(root, []string{"kernel"}, "memory")...)
	}
	w, wWas := pt.Workload, ref.e.Workload
	if w.Warmup == 0 && wWas.Warmup > 0 {
		out = append(out, "workload.warmup is 0, so that hits are cold")
	}
	w.Hits, w.Warmup, wWas.Hits, wWas.Warmup = 0, 0, 0, 0
	if !reflect.DeepEqual(w, wWas) {
		out = append(out, ref.keys(root, []string{"workload"}, "hits", "warmup")...)
	}
	if len(pt.Modules) > 0 && len(ref.e.Modules) == 0 {
		out = append(out, "modules are loaded")
	}
	if pt.Crowd.Size() > 0 && pt.Crowd != ref.e.Crowd {
		out = append(out, fmt.Sprintf("crowd has %d other probes", pt.Crowd.Size()))
	}
	i := slices.IndexFunc(ref.e.Probes, func(q schema.Probe) bool { return q.Name == pt.Probe.Name })
	if i < 0 {
		return append(out, fmt.Sprintf("points.%s has another name", pt.Probe.Name))
	}
	if !reflect.DeepEqual(bare(pt.Probe), bare(ref.e.Probes[i])) {
		out = append(out, ref.keys(root, []string{"points", pt.Probe.Name}, "title", "role", "published")...)
	}
	return out
}

// bare is a probe without what is said about it.
func bare(p schema.Probe) schema.Probe {
	p.Title, p.Role, p.Published = "", "", nil
	return p
}

// keys lists the keys below path whose values differ from the file with the figures.
func (ref *measured) keys(root *doc.Node, path []string, but ...string) []string {
	is, was := root.Find(path...), ref.root.Find(path...)
	var out []string
	for _, key := range keysOf(is, was) {
		now, then := textAt(is, key), textAt(was, key)
		if now != then && !slices.Contains(but, key) {
			out = append(out, fmt.Sprintf("%s.%s is %s, not %s", strings.Join(path, "."), key, now, then))
		}
	}
	return out
}

// keysOf lists the keys of two tables, each once.
func keysOf(tables ...*doc.Node) []string {
	var out []string
	for _, t := range tables {
		for _, f := range t.Fields {
			out = distinct.Append(out, f.Key)
		}
	}
	return out
}

// textAt writes the value of a key; one that is left out has its default.
func textAt(table *doc.Node, key string) string {
	v := table.Get(key)
	if v == nil {
		return "the default"
	}
	return flat(v)
}

// flat writes a value on one line.
func flat(n *doc.Node) string {
	var parts []string
	switch n.Kind {
	case doc.Array:
		for _, it := range n.Items {
			parts = append(parts, flat(it))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case doc.Table:
		for _, f := range n.Fields {
			parts = append(parts, f.Key+" "+flat(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.Text
}

// numbers lists by what the machine differs: numbers of the hardware, which make it another machine, and
// the cost model and fitted numbers, which are another model of the same one.
func (ref *measured) numbers(pt *schema.Point, settings []doc.Setting) (hardware, model []string) {
	is, was := pt.Machine, ref.machine
	if is.File != was.File || is.Name != was.Name {
		if !ref.is(is) {
			return []string{fmt.Sprintf("the machine is %s, not %s", is.Name, was.Name)}, nil
		}
		return nil, nil
	}
	if ref.is(is) {
		return nil, nil
	}
	for _, s := range settings {
		key := strings.TrimPrefix(s.Key(), "machine.")
		line := fmt.Sprintf("%s is %s", s.Key(), flat(s.Value))
		i := slices.IndexFunc(was.Params, func(p machines.Param) bool { return p.Path == key })
		switch {
		case i >= 0 && was.Params[i].Value == s.Value.Text:
		case key == "core.model":
			model = append(model, fmt.Sprintf("%s, not %s", line, was.CPU.Model))
		case i >= 0 && len(was.Params[i].Fitted) > 0:
			model = append(model, fmt.Sprintf("%s, not %s", line, was.Params[i].Value))
		case i >= 0:
			hardware = append(hardware, fmt.Sprintf("%s, not %s", line, was.Params[i].Value))
		default:
			hardware = append(hardware, line)
		}
	}
	return hardware, model
}

// is compares a machine with that of the figures, once for all points that have it.
func (ref *measured) is(m *machines.Machine) bool {
	same, known := ref.same[m]
	if !known {
		same = sameMachine(m, ref.machine)
		ref.same[m] = same
	}
	return same
}

// sameMachine compares what two descriptions cost, whatever they are called.
func sameMachine(a, b *machines.Machine) bool {
	x, y := a.CPU, b.CPU
	x.Name, y.Name = "", ""
	return a.ISA == b.ISA && a.TimerHz == b.TimerHz && reflect.DeepEqual(x, y)
}
