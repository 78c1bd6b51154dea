package planning

import (
	"slices"
	"strconv"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// port replaces a setting of schema.PortKey by those of kernel.isa, kernel.image and kernel.era, in the place of that
// setting, so that later ones still overrule them. The points of root that are to be boosted become emulated where
// the other instruction set's kernels emulate, and the reverse: both mean hits that take no step. Where no hit steps,
// those that are to step become emulated, too.
func (p *planner) port(root *doc.Node, settings []doc.Setting) []doc.Setting {
	var out []doc.Setting
	for _, s := range settings {
		if !slices.Equal(s.Path, []string{schema.PortKey}) {
			out = append(out, s)
			continue
		}
		t := p.portTarget(s.Value)
		if t == nil {
			continue
		}
		need := p.portModes(root, t)
		im := portImage(t, root.Find("kernel", "era").Text, need)
		for _, set := range [][2]string{{"isa", t.Name}, {"image", im.Name}, {"era", im.Era}} {
			out = append(out, doc.Setting{
				Path: []string{"kernel", set[0]}, Value: &doc.Node{Kind: doc.String, Text: set[1], Pos: s.Value.Pos},
			})
		}
	}
	return out
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

// portModes gives the points of root the word that the target has for hits without a step, also in their titles,
// and returns what its kernel must be able to do for them.
func (p *planner) portModes(root *doc.Node, t *targets.Target) (need kprobes.Era) {
	points := root.Get("points")
	if points == nil {
		return need
	}
	for _, pt := range points.Items {
		mode := pt.Find("mode")
		if mode.Kind != doc.String {
			continue
		}
		switch mode.Text {
		case schema.ModeWord(kprobes.Stepped):
			if t.Probes.First != kprobes.Stepped {
				p.portMode(pt, mode, schema.ModeWord(t.Probes.First))
			}
		case schema.ModeWord(kprobes.Boosted), schema.ModeWord(kprobes.Emulated):
			need.Boost = t.Probes.First == kprobes.Stepped
			p.portMode(pt, mode, schema.ModeWord(t.Probes.Then))
		case schema.ModeWord(kprobes.Optimized):
			need.Optimize = true
		}
	}
	return need
}

// portMode gives a point another mode, also in its title.
func (p *planner) portMode(pt, mode *doc.Node, is string) {
	was, moved := mode.Text, &p.plan.Moved
	if was == is {
		return
	}
	mode.Text = is
	title := pt.Find("title")
	title.Text = strings.ReplaceAll(title.Text, was, is)
	if moved.Is = is; !slices.Contains(strings.Split(moved.Was, " or "), was) {
		moved.Was = strings.TrimPrefix(moved.Was+" or "+was, " or ")
	}
	moved.Points = append(moved.Points, pt.Find("name").Text)
}

// portImage chooses the image of a target for an experiment that was written for kernels of an era: of those that
// can do what its points need, or of all if none can, the nearest in time, the earlier of two.
func portImage(t *targets.Target, era string, need kprobes.Era) workloads.Image {
	year, _ := strconv.Atoi(era)
	best, worst := -1, 0
	for i, im := range t.Images {
		if im.Options != "" {
			continue
		}
		is, _ := strconv.Atoi(im.Era)
		far := max(is-year, year-is)
		if j := slices.IndexFunc(t.Probes.Eras, func(e kprobes.Era) bool { return e.Year == is }); j >= 0 {
			if e := t.Probes.Eras[j]; need.Boost && (!e.Boost || e.BoostsFew) || need.Optimize && !e.Optimize {
				far += 10000
			}
		}
		if best < 0 || far < worst {
			best, worst = i, far
		}
	}
	return t.Images[max(best, 0)]
}
