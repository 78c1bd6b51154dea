package planning

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// port replaces a setting of schema.PortKey by settings of kernel.isa, kernel.image and kernel.era, in the place of that
// setting, so that later ones still overrule them, and returns how many settings there are up to the last of these. The
// points of root that are to be boosted become emulated where the other instruction set's kernels emulate, and the
// reverse: both mean hits that take no step. Where no hit steps, those that are to step become emulated, too. Values of a
// sweep that the machine or its kernels cannot have are left out.
func (p *planner) port(root *doc.Node, settings []doc.Setting) (out []doc.Setting, said int) {
	for _, s := range settings {
		if !slices.Equal(s.Path, []string{schema.PortKey}) {
			out = append(out, s)
			continue
		}
		t := p.portTarget(s.Value)
		if t == nil {
			continue
		}
		if kind := root.Get("kind"); kind != nil && schema.Packaged(kind.Text) {
			p.errs.Add(s.Value.Pos, "isa: kind %s boots a packaged kernel, whose file says its instruction set: leave isa out, and name another file by linux.kernel", kind.Text)
			continue
		}
		if names := foreign(root, settings, t); len(names) > 0 {
			p.errs.Add(s.Value.Pos, "isa: no kernel of %s has what is probed (%s): choose another function beside it (--set workload.target=bench_target)",
				t.Name, strings.Join(names, ", "))
			continue
		}
		need := p.portModes(root, t)
		p.portSweep(root, t)
		p.portPlaces(root, t)
		im := portImage(t, root.Find("kernel", "era").Text, p.l.optionsOf(root, t), need)
		for _, set := range [][2]string{{"isa", t.Name}, {"image", im.Name}, {"era", im.Era}} {
			out = append(out, kernelSetting(set[0], set[1], s.Value.Pos))
		}
		said = len(out)
	}
	return out, said
}

// foreign returns the functions that root is about, if the target has none of them.
func foreign(root *doc.Node, settings []doc.Setting, t *targets.Target) []string {
	if last(settings, "workload.target") >= 0 {
		return nil
	}
	var all []string
	if n := swept(root, "workload", "target"); n != nil {
		for _, v := range n.Items {
			all = append(all, v.Text)
		}
	} else if w := root.Get("workload"); w != nil && w.Get("target") != nil {
		all = append(all, w.Get("target").Text)
	}
	if slices.ContainsFunc(all, func(name string) bool { return hasFunction(t, name) }) {
		return nil
	}
	return all
}

// hasFunction tells whether a target has a function, or whether all targets have it.
func hasFunction(t *targets.Target, name string) bool {
	isas := workloads.ISAsOf(name)
	return isas == nil || slices.Contains(isas, t.Name)
}

// portTarget finds the instruction set that a setting names; nil after an error.
func (p *planner) portTarget(v *doc.Node) *targets.Target {
	known := targets.Names(p.l.Targets)
	t := targets.Find(p.l.Targets, v.Text)
	if v.Kind != doc.String || t == nil || len(t.Images) == 0 {
		p.errs.Add(v.Pos, "isa: unknown ISA %q: known are %s%s", v.Text, strings.Join(known, ", "), doc.Suggest(v.Text, known))
		return nil
	}
	return t
}

// needs are the features of a kernel that the points of an experiment want.
type needs struct {
	boost, optimize, jprobes bool
}

// met tells whether kernels of an era have it.
func (n needs) met(e kprobes.Era) bool {
	return (!n.boost || e.Boost && !e.BoostsFew) && (!n.optimize || e.Optimize) &&
		(!n.jprobes || kprobes.HasKind(kprobes.Jprobe, e.Year))
}

// portModes gives the points of root the word that the target has for their hits, also in their titles, and returns
// what its kernel must be able to do for them.
func (p *planner) portModes(root *doc.Node, t *targets.Target) (need needs) {
	first, then := schema.ModeWord(t.Probes.First), schema.ModeWord(t.Probes.Then)
	for _, pt := range root.Find("points").Items { // of which the root has none
		if pt.Get("watch") != nil {
			continue // debug registers have no modes
		}
		if kind := pt.Get("kind"); kind != nil && kind.Text == kprobes.Jprobe.String() {
			need.jprobes = true
		}
		mode := schema.ModeWord(kprobes.Stepped) // what a point has that says nothing
		if n := pt.Get("mode"); n != nil {
			mode = n.Text
		}
		switch mode {
		case schema.ModeWord(kprobes.Stepped):
			p.portMode(pt, mode, first)
		case schema.ModeWord(kprobes.Boosted), schema.ModeWord(kprobes.Emulated):
			need.boost = first != then // else every kernel does so
			p.portMode(pt, mode, then)
		case schema.ModeWord(kprobes.Optimized):
			need.optimize = true
		}
	}
	return need
}

// portMode changes the mode of a point, unless it has the right one.
func (p *planner) portMode(pt *doc.Node, was, is string) {
	if was == is {
		return
	}
	value := &doc.Node{Kind: doc.String, Text: is, Pos: pt.Pos}
	if err := (doc.Setting{Path: []string{"mode"}, Value: value}).Apply(pt); err != nil {
		return // pt is no table, which its reader says
	}
	title, m := pt.Find("title"), &p.plan.Moved
	title.Text = strings.ReplaceAll(title.Text, was, is)
	if !slices.Contains(strings.Split(m.Was, " or "), was) {
		m.Was = strings.TrimPrefix(m.Was+" or "+was, " or ")
	}
	m.Is, m.Points = is, append(m.Points, pt.Find("name").Text)
}

// portSweep leaves out values of a sweep that a target cannot have. A sweep of which nothing would be left stays as it is,
// and its points say why they cannot run.
func (p *planner) portSweep(root *doc.Node, t *targets.Target) {
	for _, key := range [][2]string{{"kernel", "cpus"}, {"kernel", "patching"}, {"workload", "target"}} {
		p.portAxis(root, key[0], key[1], func(v string) bool { return hasValue(t, strings.Join(key[:], "."), v) })
	}
}

// portPlaces leaves out what an experiment says of its own instruction set: offsets of points, which count bytes of its
// instructions, and a way of changing text that the target's kernels do not have.
func (p *planner) portPlaces(root *doc.Node, t *targets.Target) {
	kernel := root.Find("kernel")
	if n := kernel.Get("patching"); n != nil && !hasValue(t, "kernel.patching", n.Text) {
		p.portWithout(kernel, "patching", "kernel.patching "+n.Text)
	}
	isa := root.Find("kernel", "isa").Text
	for _, pt := range root.Find("points").Items {
		if n := pt.Get("offset"); n != nil && isa != t.Name && pt.Get("watch") == nil { // that of a watchpoint counts bytes of data
			p.portWithout(pt, "offset", fmt.Sprintf("offset %s of %s in code of %s", n.Text, pt.Find("name").Text, isa))
		}
	}
}

// portWithout takes a key out of a table, and says what that was.
func (p *planner) portWithout(n *doc.Node, key, text string) {
	n.Fields = slices.DeleteFunc(n.Fields, func(f doc.Field) bool { return f.Key == key })
	p.plan.Moved.Left = append(p.plan.Moved.Left, text)
}

// hasValue tells whether a target can have a value of a key: as many CPUs as its board has places for, ways of changing text
// that its kernels have, and functions that are not of other instruction sets alone.
func hasValue(t *targets.Target, key, v string) bool {
	switch key {
	case "kernel.cpus":
		space, err := t.Board.Space(t.ISA)
		n, _ := strconv.Atoi(v) // what is no number is refused where the key is read
		return err != nil || space.CPUs <= 0 || n <= space.CPUs
	case "kernel.patching":
		return t.Probes.Optimizer == nil || slices.Contains(t.Probes.Optimizer.Patchings, v)
	case "workload.target":
		return hasFunction(t, v)
	}
	return true
}

// swept returns the list of the values that a sweep of root has for a key of a table, nil for none.
func swept(root *doc.Node, table, key string) *doc.Node {
	sweep := root.Get("sweep")
	if sweep == nil {
		return nil
	}
	if n := sweep.Get(table + "." + key); n != nil {
		return n
	}
	if n := sweep.Get(table); n != nil {
		return n.Get(key)
	}
	return nil
}

// portAxis leaves out the values of a swept key that are not possible.
func (p *planner) portAxis(root *doc.Node, table, key string, possible func(v string) bool) {
	n := swept(root, table, key)
	if n == nil {
		return
	}
	var keep []*doc.Node
	var left []string
	for _, v := range n.Items {
		if possible(v.Text) {
			keep = append(keep, v)
		} else {
			left = append(left, v.Text)
		}
	}
	if len(left) > 0 && len(keep) > 0 {
		n.Items = keep
		p.plan.Moved.Left = append(p.plan.Moved.Left, table+"."+key+" "+strings.Join(left, ", "))
	}
}

// optionsOf returns the options of the kernel that the experiment was written for, such as probes of user space, if the
// target has a kernel with them, too.
func (l *Loader) optionsOf(root *doc.Node, t *targets.Target) string {
	im, _, _ := targets.Image(l.Targets, root.Find("kernel", "image").Text)
	if slices.ContainsFunc(t.Images, func(other workloads.Image) bool { return other.Options == im.Options }) {
		return im.Options
	}
	return ""
}

// portImage chooses the image of a target for an experiment that was written for kernels of an era with some options: of
// those that can do what its points need, or of all if none can, the nearest in time, the earlier of two.
func portImage(t *targets.Target, era, options string, need needs) workloads.Image {
	year, _ := strconv.Atoi(era)
	best, worst := -1, 0
	for i, im := range t.Images {
		if im.Options != options {
			continue
		}
		is, _ := strconv.Atoi(im.Era)
		far := max(is-year, year-is)
		if j := slices.IndexFunc(t.Probes.Eras, func(e kprobes.Era) bool { return e.Year == is }); j >= 0 && !need.met(t.Probes.Eras[j]) {
			far += 10000
		}
		if best < 0 || far < worst {
			best, worst = i, far
		}
	}
	return t.Images[max(best, 0)]
}
