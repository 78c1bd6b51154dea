package tables

import (
	"slices"
	"strings"

	"kprobesim/results"
)

// callColumns are the percentiles that tables show, for sets that have them.
func callColumns() []ColumnSpec {
	column := func(title string, share int) ColumnSpec {
		return ColumnSpec{
			Title: title + "\ncycles", Metric: results.CallMetric(share), Decimals: 0, Interval: true, Beside: results.CallMetric(share),
		}
	}
	return []ColumnSpec{
		column("call p50", 500), column("p90", 900), column("p99", 990), column("longest", 1000),
	}
}

// countColumns are the columns of calls and hits, where any point has not one hit a call.
func countColumns() []ColumnSpec {
	return []ColumnSpec{
		{Title: "calls", Metric: results.MetricCalls, Beside: results.MetricHitsMissed},
		{Title: "hits", Metric: results.MetricHits, Beside: results.MetricHitsMissed},
		{Title: "missed\nhits", Metric: results.MetricHitsMissed, Beside: results.MetricHitsMissed},
		{Title: "missed\nreturns", Metric: results.MetricReturns, Beside: results.MetricHitsMissed},
	}
}

// countNotes says what stands in the columns of points with one hit a call, and what was missed.
func countNotes(s *results.Set) (notes []string) {
	points := s.Points()
	with := slices.DeleteFunc(slices.Clone(points), func(p results.Point) bool { _, ok := s.Get(p, results.MetricHitsMissed); return !ok })
	if n := len(with); n > 0 && n < len(points) {
		notes = []string{"counts: - where each call had one hit and none was missed"}
	}
	return append(notes, results.MissedNotes(s)...)
}

// spreads reports whether the replicates of any point disagree in the digits that the column shows.
func (c ColumnSpec) spreads(s *results.Set, points []results.Point) bool {
	return slices.ContainsFunc(points, func(p results.Point) bool {
		r, _ := s.Get(p, c.Metric)
		return r.Spread.Text(c.Decimals) != ""
	})
}

// addIntervals adds a column with the intervals of a metric.
func (t *Table) addIntervals(s *results.Set, points []results.Point, spec ColumnSpec) {
	t.Columns = append(t.Columns, Column{Title: "95 %\ninterval", Align: Right})
	for i, p := range points {
		r, _ := s.Get(p, spec.Metric)
		t.Rows[i] = append(t.Rows[i], r.Spread.Text(spec.Decimals))
	}
}

// SweepColumns are the columns that tell the points of a sweep apart: the name, and one for each
// parameter, headed by the last word of its key. The name is left out when all points have the same.
func SweepColumns(s *results.Set) []ColumnSpec {
	var specs []ColumnSpec
	if results.Differ(s.Points(), results.Point.Name) {
		specs = append(specs, ColumnSpec{Title: "probe", Key: results.Point.Name})
	}
	for _, key := range results.SweptKeys(s) {
		specs = append(specs, ColumnSpec{
			Title: key[strings.LastIndex(key, ".")+1:],
			Key:   func(p results.Point) string { return p.Swept(key) },
		})
	}
	if len(specs) == 0 {
		return []ColumnSpec{probeColumn()}
	}
	return specs
}

// probeColumn is the column that names the probe of a row.
func probeColumn() ColumnSpec {
	return ColumnSpec{Title: "probe", Key: func(p results.Point) string { return p.Probe }}
}

// OverheadColumns declares the table of the overhead of probe hits: what tells the points apart, cycles and microseconds, the
// published figure, the error, fitted or predicted, instructions, cycles by phase in the given order
// (a phase that is zero or absent for every probe is left out), and the first, cold hit.
func OverheadColumns(s *results.Set, phases []string) []ColumnSpec {
	specs := append(SweepColumns(s), []ColumnSpec{
		{Title: "cycles\nper hit", Metric: results.MetricCycles, Decimals: 1, Interval: true},
		{Title: "us\nper hit", Metric: results.MetricMicros, Decimals: 3},
		{Title: "published\nus", Metric: results.MetricPublished, Decimals: -1, Beside: results.MetricPublished},
		{Title: "error\n%", Metric: results.MetricError, Decimals: 1, Signed: true, Beside: results.MetricPublished},
		{Title: "unex-\nplained %", Metric: results.MetricUnexplained, Decimals: 1, Signed: true, DropZero: true},
		{Title: "role", RoleOf: results.MetricMicros},
		{Title: "instrs\nper hit", Metric: results.MetricInstructions, Decimals: 1},
	}...)
	for _, phase := range phases {
		specs = append(specs, ColumnSpec{
			Title: phase + "\ncycles", Metric: results.PhaseMetric(phase), Decimals: 1, DropZero: true,
		})
	}
	specs = append(specs, callColumns()...)
	return append(specs, ColumnSpec{
		Title: "first hit\ncycles", Metric: results.MetricFirst, Decimals: 0, DropZero: true, Interval: true,
	})
}

// PublishedColumns declares the table that holds experiments of several machines against published
// figures: where, which probe, the published figure with its doubts, the simulated one, its error and what
// of it the doubts leave unexplained, and whether it was fitted or predicted. What is said of published figures is
// left out where there are none. Cycles stand beside microseconds if they are asked for.
func PublishedColumns(cycles bool) []ColumnSpec {
	columns := []ColumnSpec{
		{Title: "machine", Key: func(p results.Point) string { return p.Machine }},
		{Title: "era", Key: func(p results.Point) string { return p.Era }},
		{Title: "ISA", Key: func(p results.Point) string { return p.ISA }},
		probeColumn(),
		{Title: "published\nus", Metric: results.MetricPublished, Decimals: -1, Beside: results.MetricPublished},
		{Title: "rounding\n+- us", Metric: results.MetricRounding, Decimals: 3, Beside: results.MetricPublished},
		{Title: "repeats\n+- us", Metric: results.MetricRepeats, Decimals: 3, Beside: results.MetricPublished},
		{Title: "simulated\nus", Metric: results.MetricMicros, Decimals: 3, Interval: true},
		{Title: "error\n%", Metric: results.MetricError, Decimals: 1, Signed: true, Beside: results.MetricPublished},
		{Title: "unex-\nplained %", Metric: results.MetricUnexplained, Decimals: 1, Signed: true, Beside: results.MetricPublished},
		{Title: "role", RoleOf: results.MetricMicros},
	}
	if !cycles {
		return columns
	}
	at := slices.IndexFunc(columns, func(c ColumnSpec) bool { return c.Metric == results.MetricMicros })
	return slices.Insert(columns, at+1, ColumnSpec{Title: "\ncycles", Metric: results.MetricCycles, Decimals: 0, Interval: true})
}
