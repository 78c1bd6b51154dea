package tables

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func overheadTable(t *testing.T) *Table {
	set := resultstest.Sample(t)
	p := set.Points()[0]
	p.Probe = "j" // published alone
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "1.10"), Role: results.Measured}))
	table := Tabulate(set, OverheadColumns(set, resultstest.SamplePhases()))
	table.Title = "Overhead of a probe hit: xeon-e5410, x86_64, era 2010, 1 CPU"
	table.Notes = []string{"published: Documentation/kprobes.txt, 2010", "fitted on k and b"}
	return table
}

func TestBlankRepeats(t *testing.T) {
	table := &Table{Rows: [][]string{{"a", "1", "x"}, {"a", "1", "y"}, {"a", "2", "z"}, {"a", "1", "y"}}}
	table.BlankRepeats(2)
	want := [][]string{{"a", "1", "x"}, {"", "", "y"}, {"a", "2", "z"}, {"a", "1", "y"}}
	require.That(t, slices.EqualFunc(table.Rows, want, slices.Equal), "rows %q, want %q", table.Rows, want)
}

func TestTableWidths(t *testing.T) {
	table := &Table{
		Columns: []Column{{"näme", Left}, {"µs\nje|hit", Right}, {Title: "x"}},
		Rows:    [][]string{{"日本", "1.0"}, {"e\u0301", "10.0", "y"}, {"plain", "", "z"}, {}},
	}
	want := strings.Join([]string{
		"           µs",
		"näme   je|hit  x",
		"----------------",
		"日本      1.0",
		"e\u0301        10.0  y",
		"plain          z",
		"", "",
	}, "\n")
	got := table.Text()
	require.That(t, got == want, "got\n%s\nwant\n%s", got, want)
	require.Equal(t, (&Table{}).Text(), "\n", "an empty table")
}

// TestCountsAreShown: calls, hits and what was missed stand in columns, a figure of which something was missed is marked, and
// a line says what. A table of points with one hit a call has none of it.
func TestCountsAreShown(t *testing.T) {
	set := resultstest.Counted(t)
	text := Tabulate(set, OverheadColumns(set, []string{"step"})).Text()
	for _, want := range []string{
		"missed   missed\n", "calls  hits    hits  returns\n", "  100.0 ", "  101.0 ", "  60.0* ", " 20.0 ", "  70.0* ",
		"10   130       0      120\n", "10     0       0        0\n",
		"\ncounts: - where", "\n* rb: the returns of 120 of 130 hits were missed: ", "\n* nest: 10 of 20 hits were missed: ",
	} {
		require.That(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
	require.That(t, !strings.Contains(text, "20.0*") && !strings.Contains(text, "101.0*"), "too much is marked:\n%s", text)
	plain := Tabulate(resultstest.Sample(t), OverheadColumns(resultstest.Sample(t), nil)).Text()
	require.That(t, !strings.Contains(plain, "missed") && !strings.Contains(plain, "calls"), "nothing was missed in\n%s", plain)
	for counted := range 4 {
		few := &results.Set{}
		for i, probe := range []string{"a", "b", "c"} {
			metric := results.MetricHitsMissed
			if i >= counted {
				metric = results.MetricCycles
			}
			require.NoError(t, few.Add(results.Record{Point: results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2005", CPUs: 1, Probe: probe}, Metric: metric, Unit: "u", Role: results.Simulated}))
		}
		require.Equal(t, len(countNotes(few)), []int{0, 1, 1, 0}[counted], "lines about counts where %d of 3 points have some", counted)
	}
}

// TestOwnMissed: a figure may have misses of its own, and its neighbours none.
func TestOwnMissed(t *testing.T) {
	set := &results.Set{}
	p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2005", CPUs: 2, Probe: "k"}
	require.NoError(t, set.Add(
		results.Record{Point: p, Metric: "cycles_user_hit", Unit: "cycles", Value: resultstest.Value(t, "5"), Role: results.Simulated},
		results.Record{Point: p, Metric: "cycles_user_hit_all_cpus", Unit: "cycles", Value: resultstest.Value(t, "7"), Role: results.Simulated},
		results.Record{Point: p, Metric: results.MissedMetric("cycles_user_hit_all_cpus"), Unit: "hits", Value: resultstest.Value(t, "3"), Role: results.Simulated},
		results.Record{Point: p, Metric: results.MetricCalls, Unit: "calls", Value: resultstest.Value(t, "9"), Role: results.Simulated},
		results.Record{Point: p, Metric: "calls_missed", Unit: "calls", Value: resultstest.Value(t, "8"), Role: results.Simulated},
	))
	t1 := Tabulate(set, []ColumnSpec{
		{Title: "a", Metric: "cycles_user_hit"},
		{Title: "b", Metric: "cycles_user_hit_all_cpus"},
		{Title: "c", Metric: results.MissedMetric("cycles_user_hit_all_cpus")},
		{Title: "d", Metric: results.MetricCalls},
		{Title: "e", Metric: "calls_missed"},
	})
	want := []string{"5", "7*", "3", "9", "8"}
	require.That(t, slices.Equal(t1.Rows[0], want), "%q, want %q", t1.Rows[0], want)
}

// TestOverheadHasCalls: the table of hits has the distribution of calls, where points have one.
func TestOverheadHasCalls(t *testing.T) {
	have := map[string]bool{}
	for _, c := range OverheadColumns(&results.Set{}, nil) {
		have[c.Metric] = true
	}
	for _, share := range []int{500, 900, 990, 1000} {
		if !have[results.CallMetric(share)] {
			t.Errorf("there is no column of %s", results.CallMetric(share))
		}
	}
}
