package main

import (
	"fmt"
	"slices"
	"testing"

	"kprobesim/results"
)

// spreadSets are the settings of the documented command whose results the table of spreads shows.
func spreadSets() []string { return []string{"replicates=20", "workload.hits=200"} }

// spreadTable shows how far the published rows move with the layout: a warm hit in microseconds beside the
// rounding of the published figure, and a cold one in cycles.
func spreadTable(t *testing.T) string {
	t.Helper()
	set := runSet(t, collection, spreadSets())
	means := results.Means(set)
	out := "| machine | probe | warm hit us | 95 % interval | lowest to highest | rounding +- us | cold hit cycles | 95 % interval | lowest to highest |\n" +
		"|---|---|---|---|---|---|---|---|---|\n"
	var widest float64
	var of string
	for _, p := range means.Points() {
		warm, _ := means.Get(p, results.MetricMicros)
		rounding, _ := means.Get(p, results.MetricRounding)
		cold, _ := means.Get(p, results.MetricFirst)
		low, high := extremes(set, p, results.MetricMicros)
		out += fmt.Sprintf("| %s | %s | %s | %s to %s | %s to %s | %s | %s | %s to %s |", p.Machine, p.Probe, warm.Value.Round(4),
			warm.Spread.Low.Round(4), warm.Spread.High.Round(4), low.Round(4), high.Round(4), rounding.Value,
			cold.Value.Round(0), cold.Spread.Low.Round(0), cold.Spread.High.Round(0))
		if share := high.Sub(low).Float() / (2 * rounding.Value.Float()); share >= widest {
			widest, of = share, fmt.Sprintf("`%s` of %s", p.Probe, p.Machine)
		}
		low, high = extremes(set, p, results.MetricFirst)
		out += fmt.Sprintf(" %s to %s |\n", low.Round(0), high.Round(0))
	}
	return out + fmt.Sprintf("\nThe widest range of a warm hit is that of %s: %.0f %% of the width that the rounding of its published figure "+
		"leaves open.\n", of, 100*widest)
}

// extremes returns the lowest and the highest value that the replicates of a point have.
func extremes(s *results.Set, p results.Point, metric string) (low, high results.Value) {
	var all []results.Value
	for r := range s.All() {
		if at := r.Point; r.Metric == metric {
			if at.Replicate = 0; at == p {
				all = append(all, r.Value)
			}
		}
	}
	return slices.MinFunc(all, results.Value.Cmp), slices.MaxFunc(all, results.Value.Cmp)
}
