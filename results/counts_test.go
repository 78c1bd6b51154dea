package results

import (
	"slices"
	"strings"
	"testing"
)

// counted is a set of points that hit a probe in different ways: once a call, 13 times a call, with missed returns, and
// never.
func counted(t *testing.T) *Set {
	t.Helper()
	set := &Set{}
	add := func(probe string, metrics ...string) {
		p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: probe}
		for i := 0; i < len(metrics); i += 2 {
			check(t, set.Add(Record{Point: p, Metric: metrics[i], Unit: "u", Value: value(t, metrics[i+1]), Role: Simulated}))
		}
	}
	add("k", MetricCycles, "100", MetricHits, "10")
	add("deep", MetricCycles, "101", MetricHits, "130", MetricCalls, "10", MetricHitsMissed, "0", MetricReturns, "0")
	add("rb", MetricCycles, "60", PhaseMetric("step"), "20", MetricHits, "130", MetricCalls, "10", MetricHitsMissed, "0", MetricReturns, "120")
	add("nest", MetricCycles, "70", MetricHits, "20", MetricCalls, "10", MetricHitsMissed, "10", MetricReturns, "0")
	add("off", MetricHits, "0", MetricCalls, "10", MetricHitsMissed, "0", MetricReturns, "0")
	return set
}

// TestCountsAreShown: calls, hits and what was missed stand in columns, a figure of which something was missed is marked, and
// a line says what. A table of points with one hit a call has none of it.
func TestCountsAreShown(t *testing.T) {
	set := counted(t)
	text := Tabulate(set, OverheadColumns([]string{"step"})).Text()
	for _, want := range []string{
		"missed   missed\n", "calls  hits    hits  returns\n", "  100.0 ", "  101.0 ", "  60.0* ", " 20.0 ", "  70.0* ",
		"10   130       0      120\n", "10     0       0        0\n",
		"\ncounts: - where", "\n* rb: the returns of 120 of 130 hits were missed: ", "\n* nest: 10 of 20 hits were missed: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "20.0*") || strings.Contains(text, "101.0*") {
		t.Errorf("too much is marked:\n%s", text)
	}
	if plain := Tabulate(sample(t), OverheadColumns(nil)).Text(); strings.Contains(plain, "missed") || strings.Contains(plain, "calls") {
		t.Errorf("nothing was missed in\n%s", plain)
	}
}

// TestMissedBench: figures of hits of which some were missed have units of their own.
func TestMissedBench(t *testing.T) {
	set := counted(t)
	data, err := BenchText(set, OverheadBench())
	check(t, err)
	for _, want := range []string{
		"Unit cycles/hit better=lower assume=exact\nUnit cycles/hit-some-missed better=lower assume=exact\n", "Unit missed-returns assume=exact\n",
		"probe=k 10 100 cycles/hit\n", "probe=deep 130 101 cycles/hit 10 calls 0 missed-hits 0 missed-returns\n",
		"probe=rb 130 60 cycles/hit-some-missed 10 calls 0 missed-hits 120 missed-returns\n",
		"probe=off 1 10 calls 0 missed-hits 0 missed-returns\n",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %q in\n%s", want, data)
		}
	}
}

// TestMissedFigures: the label of a bar is marked and the caption says why.
func TestMissedFigures(t *testing.T) {
	set := counted(t)
	chart := BarChart{Bars: []BarMetric{{Metric: MetricCycles, Name: "cycles"}}}
	f, err := chart.Draw(set)
	check(t, err)
	ShowMissed(f, set)
	var labels []string
	for _, b := range f.(*Bars).Series[0].Bars {
		labels = append(labels, b.Label)
	}
	if want := []string{"100", "101", "60*", "70*", ""}; !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q", labels, want)
	}
	stack, err := PhaseStack(set, []string{"step"}, Frame{})
	check(t, err)
	if got := stack.(*Stack).Groups; !slices.Equal(got, []string{"rb*"}) {
		t.Errorf("groups of the stack %q", got)
	}
	if caption := strings.Join(f.frame().Caption, "\n"); !strings.Contains(caption, "* rb: ") || !strings.Contains(caption, "* nest: ") {
		t.Errorf("caption %q", caption)
	}
}

// TestOwnMissed: a figure may have misses of its own, and its neighbours none.
func TestOwnMissed(t *testing.T) {
	set := &Set{}
	p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2005", CPUs: 2, Probe: "k"}
	check(t, set.Add(
		Record{Point: p, Metric: "cycles_user_hit", Unit: "cycles", Value: value(t, "5"), Role: Simulated},
		Record{Point: p, Metric: "cycles_user_hit_all_cpus", Unit: "cycles", Value: value(t, "7"), Role: Simulated},
		Record{Point: p, Metric: MissedMetric("cycles_user_hit_all_cpus"), Unit: "hits", Value: value(t, "3"), Role: Simulated},
		Record{Point: p, Metric: MetricCalls, Unit: "calls", Value: value(t, "9"), Role: Simulated},
		Record{Point: p, Metric: "calls_missed", Unit: "calls", Value: value(t, "8"), Role: Simulated},
	))
	t1 := Tabulate(set, []ColumnSpec{
		{Title: "a", Metric: "cycles_user_hit"},
		{Title: "b", Metric: "cycles_user_hit_all_cpus"},
		{Title: "c", Metric: MissedMetric("cycles_user_hit_all_cpus")},
		{Title: "d", Metric: MetricCalls},
		{Title: "e", Metric: "calls_missed"},
	})
	if want := []string{"5", "7*", "3", "9", "8"}; !slices.Equal(t1.Rows[0], want) {
		t.Errorf("%q, want %q", t1.Rows[0], want)
	}
}
