package reports

import (
	"fmt"
	"math/big"
	"slices"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/results"
)

// quantities turns the quantities of a measurement into records.
func quantities(p *schema.Point, m *kinds.Measurement) ([]results.Record, error) {
	w := recorder{at: p.At(), role: p.Probe.Role}
	for _, q := range m.Quantities {
		w.perHit(q.Metric, q.Unit, q.Num, q.Den)
	}
	w.counts(m.Counts)
	return w.out, w.err
}

// counts records calls and hits, and what was missed of them, where that is not one hit a call. Some may be there.
func (w *recorder) counts(c kinds.Counts) {
	if c.Plain() {
		return
	}
	for _, x := range []struct {
		metric, unit string
		n            int64
	}{
		{results.MetricCalls, "calls", c.Calls},
		{results.MetricHits, "hits", c.Hits},
		{results.MetricHitsMissed, "hits", c.Missed},
		{results.MetricReturns, "calls", c.Returns},
	} {
		if !slices.ContainsFunc(w.out, func(r results.Record) bool { return r.Metric == x.metric }) {
			w.ratio(x.metric, x.unit, x.n, 1)
		}
	}
}

// Records returns the observations of a point: the overhead of a warm hit, of the first one, and
// what was published; or the quantities of another kind. Every value is a fraction until it is
// rounded here, once, to the decimals of results.
func Records(p *schema.Point, m *kinds.Measurement) ([]results.Record, error) {
	if p.Kind != schema.KindOverhead {
		return quantities(p, m)
	}
	w := recorder{at: p.At(), role: p.Probe.Role}
	over := m.Over()
	perHit := int64(clock.PerCycle) * m.Hits
	w.perHit(results.MetricCycles, "cycles", int64(over.Time), perHit)
	us := w.micros(over.Time, m.Hits, p.Machine.CPU.Hz)
	w.perHit(results.MetricInstructions, "instructions", over.Instructions, m.Hits)
	for i, phase := range kinds.Phases() {
		w.perHit(results.PhaseMetric(phase.String()), "cycles", int64(over.Phases[i]), perHit)
	}
	first := m.First.Sub(m.Single)
	w.perHit(results.MetricFirst, "cycles", int64(first.Time), int64(clock.PerCycle)*first.Hits)
	w.perHit("instructions_first_hit", "instructions", first.Instructions, first.Hits)
	w.ratio(results.MetricUnprobed, "cycles", int64(m.Base.Time), int64(clock.PerCycle)*m.Counts.Calls)
	w.ratio(results.MetricHits, "hits", m.Hits, 1)
	w.counts(m.Counts)
	w.calls(m.Taken)
	if pub := p.Published(); pub != nil && m.Hits > 0 {
		w.published(us, pub)
	}
	return w.out, w.err
}

// perHit is ratio, but for a number of which there is none where nothing was hit.
func (w *recorder) perHit(metric, unit string, num, den int64) {
	if den != 0 {
		w.ratio(metric, unit, num, den)
	}
}

// recorder collects the records of one point; the first error stays.
type recorder struct {
	at   results.Point
	role results.Role
	out  []results.Record
	err  error
}

// add keeps the record in spite of an error: the caller drops them all.
func (w *recorder) add(metric, unit string, v results.Value, err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", metric, err)
	}
	w.out = append(w.out, results.Record{
		Point: w.at, Metric: metric, Unit: unit, Value: v,
		Role: w.role,
	})
}

// ratio rounds once, by the rule of package results.
func (w *recorder) ratio(metric, unit string, num, den int64) {
	v, err := results.Ratio(num, den)
	w.add(metric, unit, v, err)
}

// micros records the time of a hit: ticks over hits, at a clock of hz. Six decimals of a microsecond
// are a picosecond, finer than a cycle of any machine.
func (w *recorder) micros(t clock.Ticks, hits, hz int64) (v results.Value) {
	if hits == 0 {
		return v
	}
	r := big.NewRat(int64(t), int64(clock.PerCycle))
	r.Mul(r, big.NewRat(1_000_000, hits))
	r.Mul(r, big.NewRat(1, hz))
	v, err := results.Rational(r)
	w.add(results.MetricMicros, "us", v, err)
	return v
}

// published adds the number of the source and the error against it. The role says that it was
// measured by others and simulated by nobody.
func (w *recorder) published(us results.Value, pub *schema.Published) {
	w.out = append(w.out, results.Record{
		Point: w.at, Metric: results.MetricPublished, Unit: "us",
		Value: pub.Micros, Role: results.Measured, Source: pub.Source,
	})
	v, err := results.ErrorPercent(us, pub.Micros)
	w.add(results.MetricError, "%", v, err)
	w.doubts(us, pub)
}

// measured adds a property of a published figure, in microseconds.
func (w *recorder) measured(metric string, v results.Value) {
	w.out = append(w.out, results.Record{Point: w.at, Metric: metric, Unit: "us", Value: v, Role: results.Measured})
}

// doubts adds how far the published figure may be from what a second measurement would have printed, and
// what of the error that leaves unexplained. Where no second measurement is known, nobody can say.
func (w *recorder) doubts(us results.Value, pub *schema.Published) {
	_, high := pub.Micros.Bounds()
	rounding := high.Sub(pub.Micros)
	w.measured(results.MetricRounding, rounding)
	if pub.Repeats.Percent.IsZero() {
		return
	}
	repeats, err := results.Percent(pub.Micros, pub.Repeats.Percent)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w", results.MetricRepeats, err)
	}
	w.measured(results.MetricRepeats, repeats)
	left, err := results.Unexplained(us, pub.Micros, rounding, repeats)
	w.add(results.MetricUnexplained, "%", left, err)
}

// calls records the percentiles of the calls' times: the smallest time that at least a share of them does not
// exceed.
func (w *recorder) calls(sorted []clock.Ticks) {
	if len(sorted) == 0 {
		return
	}
	for _, share := range results.CallShares() {
		i := max((len(sorted)*share+999)/1000-1, 0)
		w.ratio(results.CallMetric(share), "cycles", int64(sorted[i]), int64(clock.PerCycle))
	}
}
