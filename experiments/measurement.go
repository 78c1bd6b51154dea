package experiments

import (
	"fmt"
	"math/big"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/results"
)

// Sample is what a stretch of simulation took.
type Sample struct {
	Time         clock.Ticks
	Instructions int64
	Phases       []clock.Ticks // by phase, in the order of Phases
}

// sub returns s - o.
func (s Sample) sub(o Sample) Sample {
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

// Phases of what is done for its own sake, in the kernel and in user mode.
const (
	workloadPhase = "workload"
	userPhase     = "user"
)

// Phases returns the phases of an ISA's guests in the order of tables: the probe's own in the order
// of the ISA, with "step" among them, then the workload and the rest of the kernel. User mode, in which
// no probe is hit, is part of the workload.
func Phases(isa *cpus.ISA) []string {
	rest := []string{workloadPhase, "kernel"}
	var own []string
	for _, name := range isa.Phases {
		if name != userPhase && !slices.Contains(rest, name) {
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
		if name == userPhase {
			name = workloadPhase
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

// at returns how records name the point.
func (p *Point) at() results.Point {
	return results.Point{
		Experiment: p.Experiment, Machine: p.Machine.Name, ISA: p.ISA.Name, Era: p.Kernel.Era,
		CPUs: int(p.Kernel.CPUs), Seed: p.Seed, Probe: p.Label,
	}
}

// Records returns the observations of a point: the overhead of a warm hit, of the first one, and
// what was published; or the quantities of another kind.
func Records(p *Point, m *Measurement) ([]results.Record, error) {
	if p.Kind != KindOverhead {
		return quantities(p, m)
	}
	w := recorder{at: p.at(), role: p.Probe.Role}
	over := m.Probed.sub(m.Base)
	perHit := clock.PerCycle * clock.Ticks(m.Hits)
	w.ratio(results.MetricCycles, "cycles", int64(over.Time), int64(perHit))
	us := w.micros(over.Time, m.Hits, p.Machine.CPU.Hz)
	w.ratio(results.MetricInstructions, "instructions", over.Instructions, m.Hits)
	for i, name := range Phases(p.ISA) {
		w.ratio(results.PhaseMetric(name), "cycles", int64(over.Phases[i]), int64(perHit))
	}
	first := m.First.sub(m.Single)
	w.ratio(results.MetricFirst, "cycles", int64(first.Time), int64(clock.PerCycle))
	w.ratio("instructions_first_hit", "instructions", first.Instructions, 1)
	w.ratio("cycles_unprobed_call", "cycles", int64(m.Base.Time), int64(perHit))
	w.ratio(results.MetricHits, "hits", m.Hits, 1)
	if pub := p.Probe.Published; pub != nil {
		w.published(us, pub)
	}
	return w.out, w.err
}

// recorder collects the records of one point; the first error stays.
type recorder struct {
	at   results.Point
	role results.Role
	out  []results.Record
	err  error
}

func (w *recorder) add(metric, unit string, v results.Value, err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", metric, err)
	}
	w.out = append(w.out, results.Record{
		Point: w.at, Metric: metric, Unit: unit, Value: v,
		Role: w.role,
	})
}

func (w *recorder) ratio(metric, unit string, num, den int64) {
	v, err := results.Ratio(num, den)
	w.add(metric, unit, v, err)
}

// micros records the time of a hit: ticks over hits, at a clock of hz.
func (w *recorder) micros(t clock.Ticks, hits, hz int64) results.Value {
	r := big.NewRat(int64(t), int64(clock.PerCycle))
	r.Mul(r, big.NewRat(1_000_000, hits))
	r.Mul(r, big.NewRat(1, hz))
	v, err := results.ParseValue(r.FloatString(6))
	v = v.Sub(results.Value{}) // without trailing zeros
	w.add(results.MetricMicros, "us", v, err)
	return v
}

func (w *recorder) published(us results.Value, pub *Published) {
	w.out = append(w.out, results.Record{
		Point: w.at, Metric: results.MetricPublished, Unit: "us",
		Value: pub.Micros, Role: results.Measured, Source: pub.Source,
	})
	v, err := results.ErrorPercent(us, pub.Micros)
	w.add(results.MetricError, "%", v, err)
}
