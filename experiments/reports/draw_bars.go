package reports

import (
	"fmt"

	"kprobesim/experiments/kinds"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// drawIRQOff charts both as bars: one group a probe. What they are without a probe stands below.
func drawIRQOff(s *results.Set) (figures.Figure, error) {
	chart := figures.BarChart{
		Frame: figures.Frame{
			Title:  "Interrupts disabled, and a timer's interrupts late: " + place(s.Points()[0]),
			YLabel: "microseconds, the longest",
			Caption: []string{fmt.Sprintf("the same calls without a probe: disabled for %s us at most, late by %s us",
				longest(s, kinds.MetricOff+kinds.Plain), longest(s, kinds.MetricLate+kinds.Plain))},
		},
		Bars: []figures.BarMetric{
			{Metric: kinds.MetricOff, Name: "interrupts disabled", Decimals: 2},
			{Metric: kinds.MetricLate, Name: "timer's interrupt late (paler)", Decimals: 2, Shade: paler},
		},
	}
	return chart.Draw(s)
}

// paler is the shade of the second bar of a group.
const paler = 0.6

// longest returns the largest value of a metric. The caption needs one number for all points, since
// calls without a probe hardly differ between them.
func longest(s *results.Set, metric string) results.Value {
	var most results.Value
	for _, p := range s.Points() {
		if r, ok := s.Get(p, metric); ok && r.Value.Cmp(most) > 0 {
			most = r.Value
		}
	}
	return most.Round(3)
}

// drawUserProbes has a group a point and a bar for each of its costs.
func drawUserProbes(s *results.Set) (figures.Figure, error) {
	chart := figures.BarChart{
		Frame: figures.Frame{Title: "A hit of a probe in user space: " + place(s.Points()[0]), YLabel: "cycles a call"},
		Bars: []figures.BarMetric{
			{Metric: kinds.MetricUserWarm, Name: "translations there"},
			{Metric: kinds.MetricUserCold, Name: "no translation left (paler)", Shade: paler},
		},
	}
	return chart.Draw(s)
}

// drawWatchpoints charts the cycles of each kind of watchpoint as bars, without those that cost nothing.
func drawWatchpoints(s *results.Set) (figures.Figure, error) {
	chart := figures.BarChart{
		Frame: figures.Frame{
			Title:   "Watchpoints: " + place(s.Points()[0]),
			YLabel:  "cycles a call more",
			Caption: []string{"a call stores, loads or is executed where a debug register watches; nobody has published figures"},
		},
		Bars: []figures.BarMetric{{Metric: results.MetricCycles}},
		Keep: func(p results.Point) bool {
			r, ok := s.Get(p, results.MetricCycles)
			return ok && r.Value.Float() >= 1
		},
	}
	return chart.Draw(s)
}
