package measured

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"kprobesim/results"
)

// Metrics beside the usual ones of a hit. A figure is made of medians, but for the first.
const (
	MetricLeast  = "cycles_per_hit_least"   // unit cycles: of the shortest times
	MetricSpread = "cycles_per_hit_spread"  // unit cycles: between the quartiles of the loop with the probes
	MetricCall   = "cycles_per_call_plain"  // unit cycles: of the loop without
	MetricCalled = "cycles_per_call_probed" // unit cycles
)

// Experiment is the name of what the module measures, wherever it runs.
const Experiment = "measure"

// Set makes records of the rows. Records are compared under the machine's name; "" stands for the processor's own name. The
// role says whether a real machine or a simulated one ran the module. Numbers of the machine were fitted on the rows that are named last.
func (t *Table) Set(machine string, role results.Role, fitted ...string) (*results.Set, error) {
	if machine == "" {
		machine = t.processor()
	}
	s := &results.Set{Axes: []results.Axis{{Key: "probes"}, {Key: "handler"}}}
	for i := range t.Rows {
		r := &t.Rows[i]
		p := results.Point{
			Experiment: Experiment, Machine: machine, ISA: t.Facts["isa"], Era: t.Facts["kernel"], CPUs: 1,
			Probe: fmt.Sprintf("%s/probes=%d/handler=%s", r.Kind, r.Probes, r.Handler),
		}
		if err := t.add(s, p, r, roleOf(p.Probe, role, fitted)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// roleOf is the role of a row.
func roleOf(probe string, role results.Role, fitted []string) results.Role {
	if slices.Contains(fitted, probe) {
		return results.Fitted
	}
	return role
}

// add makes the records of a row. Ticks become cycles of the core by the chain of additions, and time by the frequency.
func (t *Table) add(s *results.Set, p results.Point, r *Row, role results.Role) error {
	perCycle := big.NewRat(t.Clocks[0].Ticks.Median, t.Clocks[0].Adds)
	perMicro := big.NewRat(t.khz(), 1000)
	median := big.NewRat(r.With.Median-r.Base.Median, r.Hits)
	source := ""
	if role == results.Measured {
		source = fmt.Sprintf("%s on %s; Linux %s", Experiment, t.processor(), t.Facts["kernel"])
	}
	for _, m := range []struct {
		metric, unit string
		ticks, per   *big.Rat
	}{
		{results.MetricCycles, "cycles", median, perCycle},
		{results.MetricMicros, "us", median, perMicro},
		{MetricLeast, "cycles", big.NewRat(r.With.Min-r.Base.Min, r.Hits), perCycle},
		{MetricSpread, "cycles", big.NewRat(r.With.High-r.With.Low, r.Hits), perCycle},
		{MetricCall, "cycles", big.NewRat(r.Base.Median, r.Calls), perCycle},
		{MetricCalled, "cycles", big.NewRat(r.With.Median, r.Calls), perCycle},
	} {
		v, err := results.Rational(new(big.Rat).Quo(m.ticks, m.per))
		if err == nil {
			err = s.Add(results.Record{Point: p, Metric: m.metric, Unit: m.unit, Value: v, Role: role, Source: source})
		}
		if err != nil {
			return fmt.Errorf("row %s of the table: %w", p.Probe, err)
		}
	}
	return nil
}

// processor is the processor's name as a field of records.
func (t *Table) processor() string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r == ',' || r == '"' || r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, t.Facts["processor"])), " ")
}

// clockLimit is the change of the clock, in thousandths, that is worth a word.
const clockLimit = 20

// Notes says on what the rows depend.
func (t *Table) Notes() (notes []string) {
	notes = append(notes, fmt.Sprintf("%s; Linux %s; mitigations: %s", t.processor(), t.Facts["kernel"], t.Facts["mitigations"]))
	for _, a := range t.Absent {
		notes = append(notes, "not there: "+a)
	}
	if strings.Contains(t.Facts["cpus"], "hypervisor=1") {
		notes = append(notes, "the kernel ran in a virtual machine: what leaves to the hypervisor is in the times")
	}
	if strings.Contains(t.Facts["tsc"], "constant=0") {
		notes = append(notes, "the time-stamp counter follows the core's clock: microseconds are those of the clock at that moment")
	}
	first, last := t.Clocks[0], t.Clocks[len(t.Clocks)-1]
	a, b := first.Ticks.Median*last.Adds, last.Ticks.Median*first.Adds
	if d := (b - a) * 1000; d > a*clockLimit || -d > a*clockLimit {
		notes = append(notes, fmt.Sprintf("the core's clock moved: %d additions took %d ticks before the rows and %d behind them; cycles are those of the first",
			first.Adds, first.Ticks.Median, last.Ticks.Median))
	}
	return notes
}
