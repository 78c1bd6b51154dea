package kinds

import (
	"slices"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
)

// Sample is what a stretch of simulation took.
type Sample struct {
	Time         clock.Ticks
	Instructions int64
	Phases       []clock.Ticks // by phase, in the order of Phases
}

// sub returns s - o.
func (s Sample) Sub(o Sample) Sample {
	d := Sample{s.Time - o.Time, s.Instructions - o.Instructions, slices.Clone(s.Phases)}
	for i := range o.Phases {
		d.Phases[i] -= o.Phases[i]
	}
	return d
}

// Measurement is what running one point gave.
type Measurement struct {
	Hits    int64
	Base    Sample // Hits calls without the probe, after warm-up
	Probed  Sample // the same with the probe, after warm-up
	Single  Sample // one call without the probe, after warm-up
	First   Sample // the first call with it, cold but for what registering it warmed
	State   string // what the kernel says about the probe, for instance "optimized"
	Profile []byte // pprof profile of warm hits, or nil
	Notes   []string

	Accounts   []Accounts // of every CPU over Probed, or over what another kind measures
	Quantities []Quantity // what kinds other than the overhead of a hit observe
}

// stepPhase is the phase that everything from the delivery of a single-step exception to its return
// counts as.
const stepPhase = "step"

// Phases returns the phases of an ISA's guests in the order of tables: the probe's own in the order
// of the ISA, with "step" among them, then the workload and the rest of the kernel. User mode, in which
// no probe is hit, is part of the workload.
func Phases(isa *cpus.ISA) []string {
	rest := []string{schema.WorkloadPhase, "kernel"}
	var own []string
	for _, name := range isa.Phases {
		if name != schema.UserPhase && !slices.Contains(rest, name) {
			own = append(own, name)
		}
	}
	if !slices.Contains(own, stepPhase) {
		own = append(own, stepPhase)
	}
	return append(own, rest...)
}

// sample turns the difference of two counters into a Sample.
func sample(isa *cpus.ISA, c *cpus.Counters) Sample {
	names := Phases(isa)
	s := Sample{
		Time: c.Total(), Instructions: int64(c.Instructions),
		Phases: make([]clock.Ticks, len(names)),
	}
	step := slices.Index(names, stepPhase)
	for i, name := range isa.Phases {
		if name == schema.UserPhase {
			name = schema.WorkloadPhase
		}
		to := slices.Index(names, name)
		for context := range c.Time {
			if context == cpus.SingleStep {
				s.Phases[step] += c.Time[context][i]
			} else {
				s.Phases[to] += c.Time[context][i]
			}
		}
	}
	return s
}
