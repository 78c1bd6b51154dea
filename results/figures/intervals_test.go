package figures

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestIntervalsOfBars: the intervals of means are whiskers, none where all replicates agree.
func TestIntervalsOfBars(t *testing.T) {
	set := results.Means(resultstest.Replicated(t))
	bar := (BarMetric{Metric: results.MetricCycles}).series(set, set.Points()).Bars[0]
	require.That(t, bar.Low == 100 && bar.High == 104.5 && bar.Value == 102, "bar %+v", bar)
	two := append(set.Points()[:1:1], set.Points()[0])
	two[0].Probe = "none"
	if bars := (BarMetric{Metric: results.MetricCycles}).series(set, two).Bars; len(bars) != 2 || !bars[0].Absent || bars[1].Absent {
		t.Errorf("bars of a point without the metric and of one with it: %+v", bars)
	}
	if bar := (BarMetric{Metric: results.MetricPublished}).series(set, set.Points()).Bars[0]; bar.whisker() {
		t.Errorf("bar of values that agree %+v", bar)
	}
}

// TestSweepIntervals has the intervals of replicates as whiskers of the lines of a sweep: none where all agree, none on a
// logarithmic axis for an end that has no place there, and in the unit of the axis.
func TestSweepIntervals(t *testing.T) {
	set := &results.Set{}
	for cpus, values := range map[string][]string{"1": {"3000", "3100", "3300"}, "2": {"4000", "4000", "4000"}, "4": {"1000", "0", "8000"}} {
		for i, v := range values {
			p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k/cpus=" + cpus, Replicate: i}
			require.NoError(t, set.Add(results.Record{Point: p, Metric: "n", Unit: "us", Value: resultstest.Value(t, v), Role: results.Predicted}))
		}
	}
	draw := func(set *results.Set, log bool) *Lines {
		t.Helper()
		c := chart("cpus", true, log, SweepLine{Metric: "n", Series: results.Point.Name})
		c.Frame.YLabel = "microseconds"
		l := require.Must(linesOf(c, set))(t)
		slices.SortFunc(l.Series[0].Points, func(a, b XY) int { return cmp.Compare(a.X, b.X) })
		return l
	}
	want := []XY{{1, 3133.333333, 3000, 3300}, {2, 4000, 0, 0}, {4, 3000, 0, 8000}}
	means := results.Means(set)
	for _, log := range []bool{false, true} {
		l := draw(means, log)
		require.Equal(t, l.YLabel, "milliseconds", "axis in")
		if log {
			want[2].High = 0
		}
		for i, p := range l.Series[0].Points {
			w := want[i]
			near := func(a, b float64) bool { return math.Abs(1000*a-b) < 1e-5 }
			require.That(t, p.X == w.X && near(p.Y, w.Y) && near(p.Low, w.Low) && near(p.High, w.High), "logarithmic %t: point %+v in milliseconds, want %+v in microseconds", log, p, w)
		}
	}
	with, without := draw(means, false), draw(means, false)
	for i := range without.Series[0].Points {
		without.Series[0].Points[i].Low, without.Series[0].Points[i].High = 0, 0
	}
	n := strokes(t, with) - strokes(t, without)
	require.That(t, n == 2*3, "two whiskers are drawn by %d strokes, want a line with two ends for each", n)
}

// TestOverheadIntervals has the intervals of replicates as whiskers of the bars of an overhead figure.
func TestOverheadIntervals(t *testing.T) {
	set := &results.Set{}
	for i, us := range []string{"0.98", "0.99", "1.03"} {
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k", Replicate: i}
		require.NoError(t, set.Add(
			results.Record{Point: p, Metric: results.MetricMicros, Unit: "us", Value: resultstest.Value(t, us), Role: results.Fitted},
			results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "1.99"), Role: results.Measured},
		))
	}
	f := require.Must(OverheadBars(results.Means(set), Frame{YLabel: "us"}, false))(t)
	b := f.(*Bars)
	bar := &b.Series[1].Bars[0]
	require.That(t, bar.Value == 1 && bar.Low == 0.98 && bar.High == 1.03, "simulated bar %+v, want 1 with a whisker from 0.98 to 1.03", bar)
	with := strokes(t, b)
	bar.Low, bar.High = 0, 0
	n := with - strokes(t, b)
	require.That(t, n == 3, "a whisker is drawn by %d strokes, want a line with two ends", n)
}

// strokes counts the lines of a figure.
func strokes(t *testing.T, f Figure) int {
	t.Helper()
	files := require.Must(Render(f, "f"))(t)
	return strings.Count(string(files["f.svg"]), "<path")
}

// TestMissedFigures: the label of a bar is marked and the caption says why.
func TestMissedFigures(t *testing.T) {
	set := resultstest.Counted(t)
	chart := BarChart{Bars: []BarMetric{{Metric: results.MetricCycles, Name: "cycles"}}}
	f := require.Must(chart.Draw(set))(t)
	ShowMissed(f, set)
	var labels []string
	for _, b := range f.(*Bars).Series[0].Bars {
		labels = append(labels, b.Label)
	}
	want := []string{"100", "101", "60*", "70*", ""}
	require.That(t, slices.Equal(labels, want), "labels %q, want %q", labels, want)
	stack := require.Must(PhaseStack(set, []string{"step"}, Frame{}))(t)
	got := stack.(*Stack).Groups
	require.That(t, slices.Equal(got, []string{"rb*"}), "groups of the stack %q", got)
	caption := strings.Join(f.frame().Caption, "\n")
	require.That(t, strings.Contains(caption, "* rb: ") && strings.Contains(caption, "* nest: "), "caption %q", caption)
}

// TestSettingsAreShown wants the settings in title and caption of a figure.
func TestSettingsAreShown(t *testing.T) {
	s := &results.Set{Overrides: []string{"a=1", "b=2", "c=3", "points.k.title=a long title that titles of figures have no room for, too"}}
	b := &Bars{}
	ShowOverrides(b, s)
	require.That(t, b.Title == ", with 4 settings changed" && strings.Contains(strings.Join(b.Caption, " "), "points.k.title=a long"), "title %q, caption %q", b.Title, b.Caption)
	require.Equal(t, (&results.Set{}).OverridesText(), "", "no setting")
	s.Overrides = []string{"machine.core.model=window"}
	require.Equal(t, s.OverridesText(), ", with machine.core.model=window", "one setting")
}

// TestCountedValues says of how many values the points of a figure are.
func TestCountedValues(t *testing.T) {
	points := []results.Point{{Probe: "k/a=1"}, {Probe: "k/a=2"}, {Probe: "r/a=2"}}
	for byName, want := range map[bool]string{false: "2 values of a", true: "2 points times 2 values of a"} {
		require.Equal(t, countValues(points, []string{"a"}, byName), want, "by name %v", byName)
	}
}
