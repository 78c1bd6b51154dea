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
	Time    map[image.Phase]clock.Ticks
	Count   map[image.Phase]uint64
}

// NewTally returns an empty tally.
func NewTally(p Phases) *Tally {
	return &Tally{phases: p, Time: map[image.Phase]clock.Ticks{}, Count: map[image.Phase]uint64{}}
}

// Step implements cpus.Observer.
func (t *Tally) Step(s *cpus.Step) {
	p := t.phases.Phase(s)
	t.Time[p] += t.deliver.share(s)
	t.Count[p]++
}

// Phased is an observer that passes steps on with phases that others tell than the image.
func Phased(p Phases, to ...cpus.Observer) cpus.Observer { return &phased{p, to} }

type phased struct {
	phases Phases
	to     []cpus.Observer
}

// Step implements cpus.Observer.
func (o *phased) Step(s *cpus.Step) {
	own := *s
	own.Phase = uint8(o.phases.Phase(s))
	if own.Context == cpus.SingleStep {
		own.Context = cpus.Breakpoint // whose phases are not overruled: others also raise such exceptions
	}
	for _, to := range o.to {
		to.Step(&own)
	}
}

// OfSteps are the phases that the steps have themselves, as those that Phased passes on.
type OfSteps struct{}

// Phase implements Phases.
func (OfSteps) Phase(s *cpus.Step) image.Phase { return stepPhase(s) }
