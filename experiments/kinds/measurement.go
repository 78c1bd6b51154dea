package kinds

import (
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Sample is the cost of a stretch of simulation. The counts are of the CPU that makes the calls.
type Sample struct {
	Time         clock.Ticks
	Instructions int64
	Phases       []clock.Ticks // by phase, in the order of Phases
	Exceptions   int64         // and interrupts
	Counts                     // with the probes that are registered by then
}

// Sub returns s - o.
func (s Sample) Sub(o Sample) Sample {
	d := Sample{s.Time - o.Time, s.Instructions - o.Instructions, slices.Clone(s.Phases), s.Exceptions - o.Exceptions, s.Counts.Sub(o.Counts)}
	for i := range o.Phases {
		d.Phases[i] -= o.Phases[i]
	}
	return d
}

// Add returns s + o.
func (s Sample) Add(o Sample) Sample {
	d := Sample{s.Time + o.Time, s.Instructions + o.Instructions, slices.Clone(s.Phases), s.Exceptions + o.Exceptions, s.Counts.Add(o.Counts)}
	for i := range o.Phases {
		d.Phases[i] += o.Phases[i]
	}
	return d
}

// Measurement is the outcome of one point. It holds runs with and without the probe apart:
// Records subtracts, so that the raw numbers can be checked.
type Measurement struct {
	Counts                // of what is measured
	Whole   bool          // the calls of the probed function and the loop around them count, too
	Base    Sample        // the calls without the probe, after warm-up
	Probed  Sample        // as many with the probe, after warm-up
	Single  Sample        // one call without the probe, after warm-up
	First   Sample        // the first call with it, cold but for what registering it warmed
	Taken   []clock.Ticks // how long each of Probed took, in order of size, when the experiment asks for it
	Profile []byte        // pprof profile of warm hits, or nil
	Notes   []string
	Console string // what the guest has printed

	Accounts   []Accounts // of every CPU over Probed, or over what another kind measures
	Quantities []Quantity // what kinds other than the overhead of a hit observe
}

// Over returns what the probe costs in all calls: what they take with it beyond what they take without it, or all of
// it if whole calls count.
func (m *Measurement) Over() Sample {
	if m.Whole {
		return m.Probed
	}
	return m.Probed.Sub(m.Base)
}

// Phases returns the phases in the order of tables: a probe hit's, then the workload and the rest of
// the kernel. User mode, in which no probe is hit, is part of the workload. The order is that of
// columns and stacked bars, where a reader looks for the probe first.
func Phases() []image.Phase {
	var own []image.Phase
	for p := range image.PhaseCount {
		if p != image.PhaseKernel && p != image.PhaseWorkload && p != image.PhaseUser {
			own = append(own, p)
		}
	}
	return append(own, image.PhaseWorkload, image.PhaseKernel)
}

// sample turns the difference of two counters into a Sample. Contexts are summed up, but for single
// steps, which countsAs moves to their phase.
func sample(c *cpus.Counters) Sample {
	phases := Phases()
	s := Sample{
		Time: c.Total(), Instructions: int64(c.Instructions),
		Phases: make([]clock.Ticks, len(phases)),
	}
	for _, n := range c.Exceptions {
		s.Exceptions += int64(n)
	}
	for p := range image.PhaseCount {
		for context := range c.Time {
			s.Phases[slices.Index(phases, countsAs(p, context))] += c.Time[context][p]
		}
	}
	return s
}

// countsAs is the phase of tables that time counts for. Everything from the delivery of a single-step
// exception to its return is part of the step. The rule for single steps is that of profiles and
// traces.
func countsAs(p image.Phase, context int) image.Phase {
	switch {
	case context == cpus.SingleStep:
		return image.PhaseStep
	case p == image.PhaseUser:
		return image.PhaseWorkload
	}
	return p
}

// Quantity is an observation that is not the overhead of a hit: Num over Den of Unit. Both are
// integers, so that the same run gives the same record on every host.
type Quantity struct {
	Metric, Unit string
	Num, Den     int64
}
