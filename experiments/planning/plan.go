package planning

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/machines"
	"kprobesim/results/formats"
	"kprobesim/targets"
)

// mostPoints bounds one experiment: points, each as often as it has replicates. A plan of so many takes all memory of most
// hosts, so more is a slip of the pen.
const mostPoints = 10_000_000

// mostReplicates bounds the replicates of a point: the interval of their mean hardly narrows behind a hundred.
const mostReplicates = 16384

// mostMistakes is the number of mistakes behind which no other combination of a sweep is planned: they would be the same.
const mostMistakes = 100

// mostCounters bounds the branch predictors of one machine, which the host keeps a byte a counter of.
const mostCounters = 1 << 30

// planner makes a Plan out of a document, one combination of the sweep after the other.
type planner struct {
	l    *Loader
	errs doc.Errors
	plan *schema.Plan
	runs int // points times replicates, up to the first one that is too many

	collected bool // the experiment is one of a collection

	machines   map[string]*machines.Machine // by name and settings
	pristine   *doc.Node                    // the file that is planned, without settings
	references map[*doc.Node]*measured
}

// Plan reads the experiment of a name or path, with the options of --set applied, and checks
// everything that can be checked before running. The error lists every mistake, each with its
// place.
func (l *Loader) Plan(name string, sets []string) (*schema.Plan, error) {
	l.inputs, l.keys, l.keyed = nil, formats.Keys{}, map[*doc.Node]bool{}
	root, err := l.document("experiment", ".", name, "")
	if err != nil {
		return nil, err
	}
	p := &planner{l: l}
	p.plan = &schema.Plan{File: root.Pos.File, Overrides: sets}
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
	p.plan.Inputs, p.plan.Keys, l.keys = slices.Clone(l.inputs), l.keys, nil
	for _, s := range settings {
		p.plan.Keys["setting "+s.Key()] = oneLine(s.Value)
	}
	return p.plan, p.errs.Err()
}

// expand applies the settings and plans every combination of the sweep. A sweep over a key that
// --set names is replaced by the setting.
func (p *planner) expand(root *doc.Node, settings []doc.Setting) {
	p.pristine = root
	root = root.Clone()
	before := len(p.errs)
	settings, said := p.port(root, settings)
	if len(p.errs) > before {
		return // nearly everything else would be a mistake because of it
	}
	settings = p.together(root, settings, said)
	machine := p.apply(root, settings)
	axes := slices.DeleteFunc(readSweep(root, &p.errs), func(a axis) bool {
		return slices.ContainsFunc(settings, func(s doc.Setting) bool { return slices.Equal(s.Path, a.path) })
	})
	for _, a := range axes {
		p.plan.Axes = append(p.plan.Axes, a.column())
	}
	combos := combinations(axes)
	place := at(root, "sweep")
	root.Fields = slices.DeleteFunc(root.Fields, func(f doc.Field) bool { return f.Key == "sweep" }) // each combination copies the rest
	if combos <= mostPoints {
		p.each(root, axes, p.chosen(axes, combos), machine)
	}
	if combos > mostPoints || p.runs > mostPoints {
		p.errs.Add(place, "more than %d points; each combination of the sweep and each replicate of a point counts: use fewer, or split them among files with this one as base", mostPoints)
	}
}

// each plans the points of each combination of the sweep, with the settings of the machine that all of them have.
func (p *planner) each(root *doc.Node, axes []axis, combos []int, machine []doc.Setting) {
	tell := p.l.Tell
	if tell == nil {
		tell = func(string, int, int) {}
	}
	name := documentName(root)
	for n, i := range combos {
		if p.runs > mostPoints || len(p.errs) > mostMistakes {
			break
		}
		tell(name, n, len(combos))
		one, c := root.Clone(), combination(axes, i)
		if settings, possible := p.combine(one, c); possible {
			p.point(one, c, append(slices.Clone(machine), p.apply(one, settings)...))
		}
	}
	tell(name, len(combos), len(combos))
}

// chosen lists the combinations to plan.
func (p *planner) chosen(axes []axis, combos int) []int {
	all := make([]int, combos)
	for i := range all {
		all[i] = i
	}
	if p.l.Share == nil || p.collected {
		return all
	}
	texts := make([]string, combos)
	for i := range texts {
		texts[i] = suffix(combination(axes, i))
	}
	mine := p.l.Share(texts)
	if p.plan.Parted = mine != nil; !p.plan.Parted {
		return all
	}
	return mine
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
	p.plan.Figures, p.plan.Seed, p.plan.Wish = e.Figures, e.Seed, e.Wish
	if file := at(root, "title").File; e.Wish.Title == "" && filepath.Dir(file) != "experiments" { // another file than this program's
		p.plan.Wish.Title = e.Title
	}
	if len(p.errs) == before {
		for _, m := range mistakes(e) {
			p.errs.Add(at(root, m.Path...), "%s: %s", strings.Join(m.Path, "."), m.Text)
		}
	}
	if once := kindNamed(e.Kind).once; once != "" && e.Replicates > 1 {
		p.errs.Add(at(root, "replicates"), "replicates: kind %s has no use for them: %s", e.Kind, once)
	} else if once != "" && e.Replicate > 0 {
		p.errs.Add(at(root, "replicate"), "replicate: kind %s has but number 0: %s", e.Kind, once)
	}
	m := p.machineOf(root, e, machine)
	if m != nil && e.Kernel.CPUs<<m.CPU.Predictor.TableBits > mostCounters { // 0 CPUs are one, which may have the largest predictor
		p.errs.Add(at(root, "kernel", "cpus"), "kernel.cpus: predictors of %d CPUs with 2^%d counters each (predictor.table_bits) take "+
			"more than 1 GiB of the host: use fewer of either", e.Kernel.CPUs, m.CPU.Predictor.TableBits)
	}
	pt := schema.Point{
		Experiment: e.Name, Kind: e.Kind, Machine: m, Kernel: e.Kernel, Workload: e.Workload, Crowd: e.Crowd, Writes: e.Writes, Seed: e.Seed, Budget: e.Budget,
	}
	if e.Linux == nil {
		p.named(root, &pt, e)
	}
	if len(p.errs) > before {
		return // what follows would only repeat it
	}
	if e.Linux != nil {
		p.linux(root, pt, e, c)
		return
	}
	if o, patching := pt.Target.Probes.Optimizer, e.Kernel.Patching; patching != "" && o != nil && !slices.Contains(o.Patchings, patching) {
		p.errs.Add(at(root, "kernel", "patching"), "kernel.patching: no kernel of %s has the protocol %q: known are %s", pt.Target.Name,
			patching, strings.Join(o.Patchings, ", "))
		return
	}
	if err := pt.Kernel.CheckPreempt(pt.Image.Image); err != nil {
		p.errs.Join(at(root, "kernel", "preempt"), fmt.Errorf("kernel.preempt: %w", err))
		return
	}
	p.addModules(root, &pt, e)
	if len(p.errs) > before {
		return
	}
	p.checkGuest(root, &pt, e)
	p.points(root, pt, e, c, machine)
}

// machine reads a machine description with settings, once for all points that have both. No point changes it.
func (p *planner) machine(name, base string, settings []doc.Setting) (*machines.Machine, error) {
	key := documentKey("machine", name, base)
	for _, s := range settings {
		key += "\x00" + s.Key() + "=" + flat(s.Value)
	}
	if m := p.machines[key]; m != nil {
		return m, nil
	}
	m, err := p.l.Machine(name, base, settings)
	if err != nil {
		return nil, err
	}
	if p.machines == nil {
		p.machines = map[string]*machines.Machine{}
	}
	p.machines[key] = m
	return m, nil
}

// points plans the points of a kernel and a workload.
func (p *planner) points(root *doc.Node, pt schema.Point, e *schema.Experiment, c, machine []doc.Setting) {
	for i, probe := range e.Probes {
		if p.runs > mostPoints {
			return
		}
		one := pt
		one.Probe, one.Label = probe, probe.Name+suffix(c)
		one.Workload.Offset = probe.Offset(pt.Workload)
		p.claim(root, &one, i, machine)
		p.replicate(one, e)
	}
}

// replicate plans a point as often as it has replicates, or for the one that was asked for. Replicates of a
// point stand together, as all reports of them do.
func (p *planner) replicate(pt schema.Point, e *schema.Experiment) {
	n := e.Replicates
	if e.Replicate >= 0 {
		n = 1
	}
	if p.runs += n; p.runs > mostPoints {
		return // an error is reported when all are counted
	}
	for i := range n {
		pt.Name, pt.Replicate, pt.Further = pt.Label, max(i, e.Replicate), i > 0
		if n > 1 {
			pt.Name += fmt.Sprintf("/replicate=%d", i)
		}
		p.plan.Points = append(p.plan.Points, pt)
	}
}

// machineOf reads the machine of an experiment, nil when it cannot be.
func (p *planner) machineOf(root *doc.Node, e *schema.Experiment, settings []doc.Setting) *machines.Machine {
	if e.Machine == "" {
		return nil // which was reported
	}
	m, err := p.machine(e.Machine, folder(root, "machine"), settings)
	p.errs.Join(at(root, "machine"), err)
	return m
}

// setISA finds the instruction set of a point's kernel, which must be the machine's.
func (p *planner) setISA(root *doc.Node, pt *schema.Point) bool {
	name := pt.Kernel.ISA
	pt.Target = targets.Find(p.l.Targets, name)
	known := targets.Names(p.l.Targets)
	switch {
	case pt.Target == nil:
		p.errs.Add(at(root, "kernel", "isa"), "kernel.isa: unknown ISA %q: known are %s%s", name,
			strings.Join(known, ", "), doc.Suggest(name, known))
	case pt.Machine != nil && pt.Machine.ISA != name:
		p.errs.Add(at(root, "kernel", "isa"), "kernel.isa: the kernel is %s, machine %s is %s: choose a machine of "+
			"the same instruction set (`kprobesim list`)", name, pt.Machine.Name, pt.Machine.ISA)
	default:
		return true
	}
	return false
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

// beside is a path from a folder on, where it is neither absolute nor none.
func beside(folder, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
