package sim

import (
	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Phases says to which phase each instruction belongs, in the order in which CPUs execute them.
type Phases interface {
	Phase(s *cpus.Step) image.Phase
}

// Tally is an observer that adds up time and instructions by phases that others tell than the image. The delivery of an
// exception counts for the first instruction of its handler.
type Tally struct {
	phases  Phases
	deliver delivery
	time    [allPhases]clock.Ticks
	count   [allPhases]int
}

// allPhases bounds what a step has as its phase.
const allPhases = 1 << 8

// NewTally returns an empty tally.
func NewTally(p Phases) *Tally { return &Tally{phases: p} }

// Step implements cpus.Observer.
func (t *Tally) Step(s *cpus.Step) {
	p := t.phases.Phase(s)
	t.time[p] += t.deliver.share(s)
	t.count[p] += 1 + s.More
}

// Time is the time of each phase that had instructions.
func (t *Tally) Time() map[image.Phase]clock.Ticks {
	out := map[image.Phase]clock.Ticks{}
	for p, n := range t.count {
		if n > 0 {
			out[image.Phase(p)] = t.time[p]
		}
	}
	return out
}

// Phased is an observer that passes steps on with phases that others tell than the image.
func Phased(p Phases, to ...cpus.Observer) cpus.Observer { return &phased{p, to, cpus.Step{}} }

type phased struct {
	phases Phases
	to     []cpus.Observer
	own    cpus.Step // a copy of the present step
}

// Step implements cpus.Observer.
func (o *phased) Step(s *cpus.Step) {
	own := &o.own
	*own = *s
	own.Phase = uint8(o.phases.Phase(s))
	if own.Context == cpus.SingleStep {
		own.Context = cpus.Breakpoint // whose phases are not overruled: others also raise such exceptions
	}
	for _, to := range o.to {
		to.Step(own)
	}
}

// OfSteps are the phases that the steps have themselves, as those that Phased passes on.
type OfSteps struct{}

// Phase implements Phases.
func (OfSteps) Phase(s *cpus.Step) image.Phase { return stepPhase(s) }
