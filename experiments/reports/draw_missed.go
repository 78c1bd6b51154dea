package reports

import (
	"fmt"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// tasksKey is swept where the question is how many callers are in the function at once.
const tasksKey = "workload.tasks"

// missedLines is the key that lines tell: the number of callers, or else preemption, which has panels then. What the probed
// function does has panels.
func missedLines(s *results.Set) []string {
	if callersSwept(s.Points()) {
		return []string{tasksKey}
	}
	return []string{"kernel.preempt"}
}

func callersSwept(points []results.Point) bool {
	return results.Differ(points, func(p results.Point) string { return p.Swept(tasksKey) })
}

// byPreemption names a line by the preemption of kernel code.
func byPreemption(p results.Point) string {
	return lineName(p, labelled("preemption ", p.Swept("kernel.preempt")))
}

// maxActive returns the value of the swept maxactive of whatever point.
func maxActive(p results.Point) (key, value string) {
	key = "points." + p.Name() + ".maxactive"
	return key, p.Swept(key)
}

// drawMissed shows the last number of CPUs, the largest of the sweep, and leaves out the default,
// which has a figure of its own.
func drawMissed(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	last := points[len(points)-1]
	key, _ := maxActive(last)
	chart := figures.SweepChart{Over: key, Lines: missedLines(s), LogX: true, Frame: figures.Frame{
		Title:  fmt.Sprintf("Calls that a return probe misses, %d CPUs: %s", last.CPUs, place(last)),
		XLabel: "maxactive: instances of the probe", YLabel: "calls missed, %",
	}}
	chart.Metrics = missedLine(s, func(p results.Point) bool {
		_, value := maxActive(p)
		return p.CPUs == last.CPUs && value != "0"
	})
	return chart.Draw(s)
}

// drawMissedDefault goes over the number of CPUs, because the default grows with it.
func drawMissedDefault(s *results.Set) (figures.Figure, error) {
	chart := figures.SweepChart{Over: "kernel.cpus", Lines: missedLines(s), LogX: true, Frame: figures.Frame{
		Title:  "Calls that a return probe with the default maxactive misses: " + place(s.Points()[0]),
		XLabel: "CPUs", YLabel: "calls missed, %",
	}}
	chart.Metrics = missedLine(s, func(p results.Point) bool {
		_, value := maxActive(p)
		return value == "0"
	})
	return chart.Draw(s)
}

// missedLine draws the points for which keep says so.
func missedLine(s *results.Set, keep func(results.Point) bool) []figures.SweepLine {
	line := figures.SweepLine{Metric: kinds.MetricMissShare}
	name := byPreemption
	if callersSwept(s.Points()) {
		name = func(p results.Point) string { return "callers " + p.Swept(tasksKey) }
	} else {
		line.Style = func(p results.Point) figures.LineStyle {
			return figures.LineStyle{Group: byPreemption(p), Dash: dashedIf(p.Swept("kernel.preempt") == schema.PreemptNone)}
		}
	}
	line.Series = func(p results.Point) string {
		if !keep(p) {
			return ""
		}
		return name(p)
	}
	return []figures.SweepLine{line}
}

// metricNeeded is made of other records and stands in none.
const metricNeeded = "instances_needed"

// drawMissedLeast charts the smallest maxactive of the sweep that loses no call over the number of callers, or over CPUs
// where callers are not swept.
func drawMissedLeast(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	key, _ := maxActive(points[0])
	chart := figures.SweepChart{Over: tasksKey, Lines: []string{"kernel.cpus"}, LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "The smallest maxactive that loses no call: " + place(points[0]),
		XLabel: "callers at once", YLabel: "maxactive",
		Caption: []string{"of the values that were tried; the kernel's default is not among them"},
	}}
	name := func(p results.Point) string { return lineName(p, labelled("CPUs ", p.Swept("kernel.cpus"))) }
	if !callersSwept(points) {
		chart.Over, chart.XLabel, chart.Lines, name = "kernel.cpus", "CPUs", []string{"kernel.preempt"}, byPreemption
	}
	chart.Metrics = []figures.SweepLine{{Metric: metricNeeded, Series: name}}
	needed, err := leastActive(s, key)
	if err != nil {
		return nil, err
	}
	return chart.Draw(needed)
}

// leastActive has the smallest value of the swept maxactive for which no call was missed, for each combination of the other
// keys. A combination in which all of them lose calls has none.
func leastActive(s *results.Set, key string) (*results.Set, error) {
	least := map[results.Point]results.Value{}
	var order []results.Point
	for _, p := range s.Points() {
		n, err := results.ParseValue(p.Swept(key))
		missed, ok := s.Get(p, kinds.MetricMissed)
		if err != nil || !n.Positive() || !ok || !missed.Value.IsZero() {
			continue
		}
		p.Probe = p.Without(key)
		was, known := least[p]
		if !known {
			order = append(order, p)
		}
		if !known || n.Cmp(was) < 0 {
			least[p] = n
		}
	}
	out := &results.Set{Axes: s.Axes}
	for _, p := range order {
		if err := out.Add(results.Record{Point: p, Metric: metricNeeded, Unit: "instances", Value: least[p], Role: results.Simulated}); err != nil {
			return nil, err
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no value of %s loses no call: sweep larger ones", key)
	}
	return out, nil
}
