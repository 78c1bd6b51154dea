package experiments

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/doc"
	"kprobesim/results"
)

// Plan is an experiment ready to run: everything was read and checked, nothing in it changes.
type Plan struct {
	Name, Title string
	Kind        string // what the points measure
	File        string // the experiment file
	Figures     []string
	Seed        uint64
	Points      []Point
	Collected   []string        // of a collection: the names of its experiments
	Differences []Difference    // of a collection: what it reports beside the figures
	Inputs      []results.Input // every file that was read, with its hash
	Overrides   []string        // the --set options
}

// Point is one measurement: machine, kernel, workload, probe and seed.
type Point struct {
	Name       string // unique in the plan: the label, behind "EXPERIMENT:" in a collection
	Label      string // the probe's name and the values of the sweep, "k/workload.hits=100"
	Experiment string // name of the experiment that the point is of
	Kind       string // what is measured
	Machine    *Machine
	ISA        *cpus.ISA
	Image      *Image
	Kernel     Kernel
	Workload   Workload
	Probe      Probe
	Seed       uint64
	Budget     int64 // microseconds of simulated time
}

// Point returns the point of a name.
func (p *Plan) Point(name string) (*Point, error) {
	var known []string
	for i := range p.Points {
		if p.Points[i].Name == name {
			return &p.Points[i], nil
		}
		known = append(known, p.Points[i].Name)
	}
	if name == "" {
		return nil, fmt.Errorf("name a point of %s: %s", p.Name, strings.Join(known, ", "))
	}
	return nil, fmt.Errorf("%s has no point %q: known are %s%s", p.Name, name,
		strings.Join(known, ", "), doc.Suggest(name, known))
}

// planner makes a Plan out of a document, one combination of the sweep after the other.
type planner struct {
	l    *Loader
	errs doc.Errors
	plan *Plan
}

// Plan reads the experiment of a name or path, with the options of --set applied, and checks
// everything that can be checked before running. The error lists every mistake, each with its
// place.
func (l *Loader) Plan(name string, sets []string) (*Plan, error) {
	l.inputs = nil
	root, err := l.document("experiment", ".", name, "")
	if err != nil {
		return nil, err
	}
	p := &planner{l: l}
	p.plan = &Plan{File: root.Pos.File, Overrides: sets}
	var settings []doc.Setting
	for _, arg := range sets {
		s, err := doc.ParseSetting(arg)
		p.errs.Join(doc.Pos{}, err)
		if err == nil {
			settings = append(settings, s)
		}
	}
	if isCollection(root) {
		p.collect(root, settings)
	} else {
		p.expand(root, settings)
	}
	p.plan.Inputs = slices.Clone(l.inputs)
	return p.plan, p.errs.Err()
}

// expand applies the settings and plans every combination of the sweep. A sweep over a key that
// --set names is replaced by the setting.
func (p *planner) expand(root *doc.Node, settings []doc.Setting) {
	root = root.Clone()
	machine := p.apply(root, settings)
	axes := slices.DeleteFunc(readSweep(root, &p.errs), func(a axis) bool {
		return slices.ContainsFunc(settings, func(s doc.Setting) bool { return slices.Equal(s.Path, a.path) })
	})
	combos := combinations(axes, maxPoints)
	if combos == nil {
		p.errs.Add(root.Get("sweep").Pos, "sweep: more than %d combinations: sweep fewer values",
			maxPoints)
	}
	for _, c := range combos {
		one := root.Clone()
		p.point(one, c, append(slices.Clone(machine), p.apply(one, c)...))
	}
	if n := len(p.plan.Points); n > maxPoints {
		p.errs.Add(root.Pos, "%d points are more than %d", n, maxPoints)
	}
}

// apply puts settings into the document and returns those that are for the machine description.
func (p *planner) apply(root *doc.Node, settings []doc.Setting) (machine []doc.Setting) {
	for _, s := range settings {
		if len(s.Path) > 1 && s.Path[0] == "machine" {
			machine = append(machine, s)
			continue
		}
		p.errs.Join(s.Value.Pos, s.Apply(root))
	}
	return machine
}

// point plans the points of one combination c of the sweep.
func (p *planner) point(root *doc.Node, c, machine []doc.Setting) {
	before := len(p.errs)
	e := readExperiment(root, &p.errs)
	p.plan.Name, p.plan.Title, p.plan.Kind = e.Name, e.Title, e.Kind
	p.plan.Figures, p.plan.Seed = e.Figures, e.Seed
	if e.Machine == "" {
		return
	}
	if check := kindOf(e.Kind).check; check != nil && len(p.errs) == before {
		for _, m := range check(e) {
			p.errs.Add(at(root, m.path...), "%s: %s", strings.Join(m.path, "."), m.text)
		}
	}
	m, err := p.l.Machine(e.Machine, folder(root, "machine"), machine)
	p.errs.Join(at(root, "machine"), err)
	if len(p.errs) > before {
		return // what follows would only repeat it
	}
	pt := Point{
		Experiment: e.Name, Kind: e.Kind, Machine: m, Kernel: e.Kernel, Workload: e.Workload, Seed: e.Seed, Budget: e.Budget,
	}
	if !p.setISA(root, &pt) {
		return
	}
	im, err := p.l.Image(e.Kernel, pt.ISA, folder(root, "kernel", "image"))
	if err != nil {
		p.errs.Join(at(root, "kernel", "image"), err)
		return
	}
	pt.Image = im
	if err := pt.Kernel.checkPreempt(im.Image); err != nil {
		p.errs.Join(at(root, "kernel", "preempt"), fmt.Errorf("kernel.preempt: %w", err))
		return
	}
	p.checkGuest(root, &pt, e)
	for i, probe := range e.Probes {
		p.addRole(root, &probe, i, e, m)
		one := pt
		one.Probe, one.Label = probe, probe.Name+suffix(c)
		one.Name = one.Label
		p.plan.Points = append(p.plan.Points, one)
	}
}

// setISA finds the instruction set of a point's kernel, which must be the machine's.
func (p *planner) setISA(root *doc.Node, pt *Point) bool {
	name := pt.Kernel.ISA
	pt.ISA = p.l.isa(name)
	known := isaNames(p.l.ISAs)
	switch {
	case pt.ISA == nil:
		p.errs.Add(at(root, "kernel", "isa"), "kernel.isa: unknown ISA %q: known are %s%s", name,
			strings.Join(known, ", "), doc.Suggest(name, known))
	case pt.Machine.ISA != name:
		p.errs.Add(at(root, "kernel", "isa"), "kernel.isa: the kernel is %s, machine %s is %s",
			name, pt.Machine.Name, pt.Machine.ISA)
	default:
		return true
	}
	return false
}

// addRole derives whether a point is a fit or a prediction, and holds what the file says against
// it.
func (p *planner) addRole(root *doc.Node, probe *Probe, i int, e *Experiment, m *Machine) {
	if !m.calibratedBy(e.Name, root.Pos.File) {
		if probe.Role == "" {
			probe.Role = results.Predicted
		}
		return // the file knows better, for instance that it builds on the one of the calibration
	}
	role := results.Predicted
	if slices.Contains(m.FittedOn(), probe.Name) {
		role = results.Fitted
	}
	if probe.Role != "" && probe.Role != role {
		p.errs.Add(at(root, "points", fmt.Sprint(i), "role"),
			"points.%s.role: the file says %s, but by machine %s the point is %s",
			probe.Name, probe.Role, m.Name, role)
	}
	probe.Role = role
}

// at returns where the value of a path stands, or the nearest table above it.
func at(root *doc.Node, path ...string) doc.Pos {
	return root.Find(path...).Pos
}

// folder returns where a relative path at a key starts: beside the file that has the key, or here when
// an option set it.
func folder(root *doc.Node, path ...string) string {
	pos := at(root, path...)
	if pos.Line == 0 {
		return ""
	}
	return filepath.Dir(pos.File)
}

// checkGuest holds symbols and offsets against the image.
func (p *planner) checkGuest(root *doc.Node, pt *Point, e *Experiment) {
	if e.Workload.Loop != "" {
		p.checkFunc(at(root, "workload", "loop"), "workload.loop", pt, e.Workload.Loop)
	}
	if e.Workload.Target != "" && p.checkFunc(at(root, "workload", "target"), "workload.target", pt, e.Workload.Target) {
		if pt.userCode(e.Workload.Target) {
			p.errs.Add(at(root, "workload", "target"), "workload.target: %s runs in user mode: name a function of the "+
				"kernel", e.Workload.Target)
		}
		if err := checkOffset(pt, e.Workload); err != nil {
			p.errs.Add(at(root, "workload", "offset"), "workload.offset: %v", err)
		}
	}
	for i, probe := range e.Probes {
		n := fmt.Sprint(i)
		for j, r := range probe.Registrations() {
			path, key := []string{"points", n}, "points."+probe.Name
			if j > 0 {
				path, key = append(path, "with", fmt.Sprint(j-1)), fmt.Sprintf("%s.with.%d", key, j-1)
			}
			p.checkRegistration(root, pt, r, path, key)
		}
	}
}

// checkRegistration holds one probe against the image; its keys stand at path and are called key.
func (p *planner) checkRegistration(root *doc.Node, pt *Point, r Registration, path []string, key string) {
	p.checkFunc(at(root, append(path, "handler")...), key+".handler", pt, r.Handler)
	if r.Kind != Kprobe && pt.Workload.Offset != 0 {
		p.errs.Add(at(root, append(path, "kind")...), "%s: a %s sits at offset 0, not %d", key, r.Kind,
			pt.Workload.Offset)
	}
}

// checkFunc reports whether name is a function of the image.
func (p *planner) checkFunc(pos doc.Pos, key string, pt *Point, name string) bool {
	s, ok := pt.Image.Symbol(name)
	if ok && s.Func {
		return true
	}
	var known []string
	for _, s := range pt.Image.Symbols {
		if s.Func {
			known = append(known, s.Name)
		}
	}
	p.errs.Add(pos, "%s: image %s has no function %q%s", key, pt.Image.Name, name,
		doc.Suggest(name, known))
	return false
}

// checkOffset decodes the target from its start: the probe must sit on an instruction.
func checkOffset(pt *Point, w Workload) error {
	s, _ := pt.Image.Symbol(w.Target)
	if w.Offset >= max(s.Size, 1) {
		return fmt.Errorf("%s has %d bytes: offset %d is outside", w.Target, s.Size, w.Offset)
	}
	code := pt.Image.code(s)
	for off := uint64(0); off < w.Offset; {
		text, n := pt.ISA.Disasm(code[off:], s.Addr+off, nil)
		if n <= 0 {
			return fmt.Errorf("%s+%#x cannot be decoded", w.Target, off)
		}
		if off+uint64(n) > w.Offset {
			return fmt.Errorf("%s+%#x is inside the instruction at +%#x (%s, %d bytes)", w.Target,
				w.Offset, off, text, n)
		}
		off += uint64(n)
	}
	return nil
}
