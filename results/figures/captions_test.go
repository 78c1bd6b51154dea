package figures

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// meansOf is a set of means over two replicates of a point, with a metric of each.
func meansOf(t *testing.T, probes ...string) *results.Set {
	t.Helper()
	set := &results.Set{}
	for i, cycles := range []string{"100", "140"} {
		for _, probe := range probes {
			p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: probe, Replicate: i}
			require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, cycles), Role: results.Simulated}))
		}
	}
	return results.Means(set)
}

// The caption of a figure of means says how many replicates they are of, and how the figure shows their intervals. A figure of
// one run says nothing of it.
func TestCaptionsOfMeans(t *testing.T) {
	means := meansOf(t, "k")
	for _, c := range []struct {
		f    Figure
		want string
	}{
		{&ECDF{}, "pale bands: 95 % interval of the mean (bootstrap)"},
		{&Stack{}, "stacks have no intervals"},
		{&Bars{}, "whiskers of simulated values: 95 % interval of the mean (bootstrap)"},
		{&Lines{}, "whiskers of simulated values: 95 % interval of the mean (bootstrap)"},
	} {
		c.f.frame().Caption = []string{"what was there"}
		ShowReplicates(c.f, means)
		got := strings.Join(c.f.frame().Caption, "\n")
		want := "what was there\nmean of 2 replicates, each with a layout of its own; " + c.want
		require.That(t, got == want, "%T: %q, want %q", c.f, got, want)
	}
	one := &results.Set{}
	require.NoError(t, one.Add(results.Record{Point: means.Points()[0], Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "1"), Role: results.Simulated}))
	b := &Bars{}
	if ShowReplicates(b, one); len(b.Caption) != 0 {
		t.Errorf("one run: %q", b.Caption)
	}
}

// An experiment without microseconds has no panel beside those that have them.
func TestPanelsOfWhatIsThere(t *testing.T) {
	set := &results.Set{}
	for machine, metric := range map[string]string{"m": results.MetricMicros, "n": results.MetricCycles} {
		p := results.Point{Experiment: "of-" + machine, Machine: machine, ISA: "i", Era: "2010", CPUs: 1, Probe: "k"}
		require.NoError(t, set.Add(results.Record{Point: p, Metric: metric, Unit: "us", Value: resultstest.Value(t, "1"), Role: results.Simulated}))
	}
	p := require.Must(OverheadPanels(set, Frame{}, func(p results.Point) string { return p.Machine }))(t)
	if len(p.Panels) != 1 || p.Panels[0].frame().Title != "m" {
		t.Errorf("%d panels, the first of %q", len(p.Panels), p.Panels[0].frame().Title)
	}
}

// TestShowTitle puts a user's title between what a figure shows and where it is from.
func TestShowTitle(t *testing.T) {
	for _, x := range []struct{ was, title, want string }{
		{"What it shows: a machine", "Mine", "What it shows: Mine (a place)"},
		{"What it shows", "Mine: all", "What it shows: Mine: all (a place)"},
		{"What it shows: a machine", "", "What it shows: a machine"},
	} {
		f := &Bars{Frame: Frame{Title: x.was}}
		ShowTitle(f, x.title, "a place")
		require.Equal(t, f.Title, x.want, "%q by %q", x.was, x.title)
	}
}
