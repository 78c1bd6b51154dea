package planning

import (
	"fmt"
	"slices"

	"kprobesim/experiments"
	"kprobesim/experiments/schema"
)

// trialYear is the era of the experiment that says on which machine a kernel is tried, for each instruction set.
const trialYear = "2010"

// Trial returns a point that boots an image of this program on a machine, "" for the one on which instruction sets are
// compared. What the point probes does not count.
func (l *Loader) Trial(image, machine string) (*schema.Point, error) {
	im, target, err := l.ImageNamed(image)
	if err != nil {
		return nil, err
	}
	sets := []string{"kernel.image=" + im.Name, fmt.Sprintf("kernel.era=%q", im.Era)}
	if machine != "" {
		sets = append(sets, "machine="+machine)
	}
	if im.Preempt {
		sets = append(sets, "kernel.preempt="+schema.PreemptFull)
	}
	p, err := l.Plan(trialOf(target.Name, im.Era), sets)
	if err != nil {
		return nil, err
	}
	pt := p.Points[0]
	pt.Name, pt.Label, pt.Experiment = "trial", "trial", "trial"
	return &pt, nil
}

// trialOf is the experiment of a later kernel's own year where there is one: it may lack what earlier ones had.
func trialOf(isa, era string) string {
	if own := "isas-" + isa + "-" + era; era > trialYear && slices.Contains(experiments.Names(), own) {
		return own
	}
	return "isas-" + isa + "-" + trialYear
}
