package main

import (
	"fmt"
	"slices"
	"testing"

	"kprobesim/results"
)

// spreadSets are the settings of the documented command whose results the table of spreads shows.
func spreadSets() []string { return []string{"replicates=20", "workload.hits=200"} }

// spreadTable shows how far the published rows move with the layout: the widest range of a warm hit of each machine beside the
// rounding of its published figure, and the widest one of a cold hit.
func spreadTable(t *testing.T) string {
	t.Helper()
	set := runSet(t, collection, spreadSets())
	means := results.Means(set)
	var names []string
	warmest, coldest := map[string]width{}, map[string]width{}
	for _, p := range means.Points() {
		if warmest[p.Machine].probe == "" {
			names = append(names, p.Machine)
		}
		rounding, _ := means.Get(p, results.MetricRounding)
		cold, _ := means.Get(p, results.MetricFirst)
		warmest[p.Machine] = widthOf(set, p, results.MetricMicros, 2*rounding.Value.Float()).or(warmest[p.Machine])
		coldest[p.Machine] = widthOf(set, p, results.MetricFirst, cold.Value.Float()).or(coldest[p.Machine])
	}
	out := "| machine | warm hit that moves most | us | share of the rounding, % | cold hit that moves most | cycles | share of the mean, % |\n" +
		"|---|---|---|---|---|---|---|\n"
	for _, name := range names {
		w, c := warmest[name], coldest[name]
		out += fmt.Sprintf("| %s | %s | %s to %s | %.0f | %s | %s to %s | %.0f |\n", name, w.probe, w.low.Round(4), w.high.Round(4), 100*w.share,
			c.probe, c.low.Round(0), c.high.Round(0), 100*c.share)
	}
	return out
}

// width is the range of a figure under all layouts, and its share of something.
type width struct {
	probe     string
	low, high results.Value
	share     float64
}

func widthOf(set *results.Set, p results.Point, metric string, whole float64) width {
	low, high := extremes(set, p, metric)
	return width{p.Probe, low, high, high.Sub(low).Float() / whole}
}

// or returns the wider one.
func (w width) or(than width) width {
	if than.probe == "" || w.share > than.share {
		return w
	}
	return than
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
