package figures

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// chart charts metrics over a swept key.
func chart(over string, logX, logY bool, metrics ...SweepLine) *SweepChart {
	return &SweepChart{Over: over, Lines: []string{"load"}, LogX: logX, LogY: logY, Metrics: metrics}
}

// linesOf draws a chart without panels.
func linesOf(c *SweepChart, s *results.Set) (*Lines, error) {
	f, err := c.Draw(s)
	if err != nil {
		return nil, err
	}
	return f.(*Lines), nil
}

func TestSweepLines(t *testing.T) {
	load := SweepLine{Metric: "n", Series: func(p results.Point) string { return p.Swept("load") }}
	l, err := linesOf(chart("cpus", true, false, load), resultstest.SweepSet(t))
	require.Need(t, err == nil && len(l.Series) == 2 && l.Series[1].Name == "busy" && l.Series[1].Points[1] == (XY{X: 2, Y: 2}), "lines are %+v, %v", l, err)
	l, err = linesOf(chart("cpus", true, true, load), resultstest.SweepSet(t))
	require.That(t, err == nil && len(l.Series) == 1 && slices.Contains(l.Caption, "not drawn, as it is zero: idle"), "on a logarithmic axis lines are %+v, %v", l, err)
	require.Error(t, require.Err(linesOf(chart("load", false, false, load), resultstest.SweepSet(t))), "is no number", "lines over a word")
	if _, err = linesOf(chart("hz", false, false, load), resultstest.SweepSet(t)); !errors.Is(err, ErrNotSwept) {
		t.Errorf("lines over what is not swept: %v", err)
	}
	require.That(t, require.Err(linesOf(chart("cpus", false, false), resultstest.SweepSet(t))) != nil, "lines of no metric are drawn")
	s := resultstest.SweepSet(t)
	one := s.Only(func(p results.Point) bool { return p == s.Points()[len(s.Points())-1] })
	l, err = linesOf(chart("cpus", false, false, load), one)
	require.That(t, err == nil && len(l.Series) == 1 && len(l.Series[0].Points) == 1, "lines of one point are %+v, %v", l, err)
	require.Error(t, require.Err(linesOf(chart("cpus", false, false, SweepLine{Metric: "none", Series: load.Series}), s)), "nothing to chart", "lines of a metric that no point has")
}

func TestSweepLinesTellWhatIsHidden(t *testing.T) {
	twice := func(name string) SweepLine {
		return SweepLine{
			Metric: "n", Series: func(p results.Point) string { return name + " " + p.Swept("load") },
			Style: func(p results.Point) LineStyle {
				if name == "b" {
					return LineStyle{p.Swept("load"), Dashed}
				}
				return LineStyle{Group: p.Swept("load")}
			},
		}
	}
	l, err := linesOf(chart("cpus", false, false, twice("a"), twice("b")), resultstest.SweepSet(t))
	require.That(t, err == nil && slices.Contains(l.Caption, "a busy lies under b busy; a idle lies under b idle"), "captions %q, %v", l.Caption, err)
	one, mark := l.style(0)
	two, hollow := l.style(2)
	require.That(t, one.Color == two.Color && !(mark.Radius <= hollow.Radius) && one.Dashes == nil && two.Dashes != nil && mark.Shape != hollow.Shape, "the lines of a group are drawn as %v %v and %v %v", one, mark, two, hollow)
	third := twice("a")
	third.Style = func(p results.Point) LineStyle {
		if p.Swept("load") == "busy" {
			return LineStyle{"busy", Dotted}
		}
		return LineStyle{Group: "idle"}
	}
	if l, err = linesOf(chart("cpus", false, false, third), resultstest.SweepSet(t)); err != nil || l.Series[0].Style.Dash == Dotted || l.Series[1].Style.Dash != Dotted {
		t.Fatalf("%+v, %v", l, err)
	}
	if dotted, filled := l.style(1); dotted.Dashes == nil || slices.Equal(dotted.Dashes, two.Dashes) || filled.Shape.(polygon).hollow {
		t.Errorf("the third line of a group is drawn as %v %v", dotted, filled)
	}
}

// TestHide names lines that lie under others, also lines of one point, and says once that all of a panel lie one under the other.
func TestHide(t *testing.T) {
	line := func(name string, y ...float64) LineSeries {
		s := LineSeries{Name: name}
		for i, v := range y {
			s.Points = append(s.Points, XY{X: float64(i), Y: v})
		}
		return s
	}
	for _, x := range []struct {
		title         string
		lines         []LineSeries
		hidden, alike string
	}{
		{"", []LineSeries{line("a", 1, 2), line("b", 1, 3), line("c", 1, 2)}, "a lies under c", ""},
		{"p", []LineSeries{line("a", 1), line("b", 1)}, "p: a lies under b", ""},
		{"p", []LineSeries{line("a"), line("b")}, "", ""},
		{"p", []LineSeries{line("a", 1), line("b", 1), line("c", 1)}, "", "p"},
		{"p", []LineSeries{line("a", 1), line("b", 1), line("c", 2), line("d", 2)}, "p: a lies under b; p: c lies under d", ""},
	} {
		n := &sweepNotes{}
		n.hide(&Lines{Frame: Frame{Title: x.title}, Series: x.lines})
		require.Equal(t, strings.Join(n.hidden, "; ")+"|"+strings.Join(n.alike, "; "), x.hidden+"|"+x.alike, "%d lines", len(x.lines))
	}
}

// sweptOver is a set of points in which every combination of the values of keys has metric n.
func sweptOver(t *testing.T, names []string, keys []string, values ...[]string) *results.Set {
	t.Helper()
	combos := []string{""}
	for i, key := range keys {
		var next []string
		for _, c := range combos {
			for _, v := range values[i] {
				next = append(next, c+"/"+key+"="+v)
			}
		}
		combos = next
	}
	s := &results.Set{}
	for _, name := range names {
		for i, c := range combos {
			p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: name + c}
			n := resultstest.Value(t, fmt.Sprint(1000*(i+1)))
			require.NoError(t, s.Add(results.Record{Point: p, Metric: "n", Unit: "us", Value: n, Role: results.Simulated}, results.Record{Point: p, Metric: results.MetricMicros, Unit: "us", Value: n, Role: results.Simulated}))
		}
	}
	return s
}

// TestSweptKeysHavePanels: a key that no line tells has a panel a value, and what does not fit is an error that
// says which keys have how many values.
func TestSweptKeysHavePanels(t *testing.T) {
	three := []string{"1", "2", "4"}
	c := chart("kernel.cpus", true, false, SweepLine{Metric: "n", Series: func(p results.Point) string { return "n " + p.Swept("load") }})
	c.YLabel = "microseconds"
	s := sweptOver(t, []string{"k"}, []string{"kernel.cpus", "load", "kernel.hz"}, three, []string{"idle", "busy"}, []string{"100", "250"})
	f := require.Must(c.Draw(s))(t)
	p := f.(*Panels)
	require.That(t, len(p.Panels) == 2 && p.Panels[0].frame().Title == "HZ 100" && len(p.Panels[1].(*Lines).Series) == 2, "panels are %+v", p.Panels)
	l := p.Panels[0].(*Lines)
	require.That(t, l.YLabel == "milliseconds" && l.Series[0].Points[0].Y == 1, "1000 us are drawn as %g %s", l.Series[0].Points[0].Y, l.YLabel)
	many := sweptOver(t, []string{"k"}, []string{"kernel.cpus", "kernel.hz", "workload.hits"}, three, three, []string{"1", "2", "3", "4", "5"})
	_, err := c.Draw(many)
	require.That(t, errors.Is(err, ErrTooMuch) && strings.Contains(err.Error(), "15 panels") && strings.Contains(err.Error(), "5 values of workload.hits"), "15 panels: %v", err)
}

// TestWhatFits draws as many lines, panels and bars as a figure can show, and refuses one more.
func TestWhatFits(t *testing.T) {
	c := chart("kernel.cpus", true, false, SweepLine{Metric: "n", Series: func(p results.Point) string { return "n " + p.Swept("load") }})
	for _, x := range []struct {
		what, key string
		most      int
		draw      func(s *results.Set) (Figure, error)
	}{
		{"lines", "load", 12, c.Draw},
		{"panels", "kernel.hz", 12, c.Draw},
		{"values of workload.hits", "workload.hits", 48, func(s *results.Set) (Figure, error) { return OverheadBars(s, Frame{}, false) }},
	} {
		var values []string
		for i := range x.most + 1 {
			values = append(values, fmt.Sprint(i+1))
		}
		draw := func(n int) error {
			return require.Err(x.draw(sweptOver(t, []string{"k"}, []string{"kernel.cpus", x.key}, []string{"1", "2"}, values[:n])))
		}
		require.NoError(t, draw(x.most))
		err := draw(x.most + 1)
		require.That(t, errors.Is(err, ErrTooMuch) && strings.Contains(err.Error(), fmt.Sprintf("%d %s", x.most+1, x.what)), "%d %s: %v", x.most+1, x.what, err)
	}
}

// TestSweptBarsHavePanels: bars are over the key with the most values, and names and other keys have panels.
func TestSweptBarsHavePanels(t *testing.T) {
	s := sweptOver(t, []string{"k", "r"}, []string{"kernel.cpus", "workload.hits"}, []string{"1", "8"}, []string{"10", "20", "30"})
	f := require.Must(OverheadBars(s, Frame{YLabel: "us"}, false))(t)
	p := f.(*Panels)
	var titles []string
	for _, b := range p.Panels {
		titles = append(titles, b.frame().Title)
	}
	b := p.Panels[0].(*Bars)
	require.That(t, strings.Join(titles, "; ") == "k, 1 CPU; k, 8 CPUs; r, 1 CPU; r, 8 CPUs" && b.XLabel == "hits" && slices.Equal(b.Groups, []string{"10", "20", "30"}), "panels %q over %q, groups %q", titles, b.XLabel, b.Groups)
	f = require.Must(OverheadBars(sweptOver(t, []string{"k", "b", "r"}, []string{"workload.target"}, []string{"x", "y"}), Frame{}, false))(t)
	p = f.(*Panels)
	if b := p.Panels[1].(*Bars); len(p.Panels) != 2 || b.Title != "y" || !slices.Equal(b.Groups, []string{"k", "b", "r"}) {
		t.Errorf("%d panels, the second %q of %q", len(p.Panels), b.Title, b.Groups)
	}
	var hits, hz []string
	for i := range 14 {
		hits, hz = append(hits, fmt.Sprint(i+1)), append(hz, fmt.Sprint(100*(i+1)))
	}
	s = sweptOver(t, []string{"k", "r"}, []string{"workload.hits", "kernel.hz"}, hits, hz)
	_, err := OverheadBars(s, Frame{}, false)
	require.That(t, errors.Is(err, ErrTooMuch) && strings.Contains(err.Error(), "14 values of kernel.hz"), "28 panels: %v", err)
}

// TestLongLabelsLeaveTheData draws lines above a label that is wider than they are: it is set in lines, and the data is as
// wide as above a short one.
func TestLongLabelsLeaveTheData(t *testing.T) {
	places := func(label string) (points string, whole bool) {
		t.Helper()
		b, err := renderTeX(&Lines{
			Frame: Frame{Title: "t", XLabel: label, YLabel: "calls missed, %", Width: 60}, LogX: true,
			Series: []LineSeries{{Name: "s", Points: []XY{{X: 1, Y: 90}, {X: 16, Y: 5}}}},
		})
		require.NoError(t, err)
		var xs []string
		for _, m := range regexp.MustCompile(`\\pgf(?:pathmoveto|lineto)\{\\pgfpoint\{([0-9.]+)pt`).FindAllStringSubmatch(string(b), -1) {
			xs = append(xs, m[1])
		}
		return strings.Join(xs, " "), regexp.MustCompile(`(?m)^\\.*` + regexp.QuoteMeta(label)).Match(b)
	}
	short, _ := places("CPUs")
	long, whole := places("maxactive: instances of the probe, each of which one call takes from its entry to its return, of a return probe")
	require.That(t, short == long && !whole, "in one line: %v; above a long label the data is elsewhere: %v", whole, short != long)
}
