package figures

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestOverheadBarsPartly charts a probe that is published alone and one that is simulated alone.
func TestOverheadBarsPartly(t *testing.T) {
	p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: "j"}
	set := &results.Set{}
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "1.10"), Role: results.Measured}))
	p.Probe = "u"
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricMicros, Unit: "us", Value: resultstest.Value(t, "2.5"), Role: results.Predicted}))
	f := require.Must(OverheadBars(set, Frame{}, true))(t)
	b := f.(*Bars)
	require.That(t, len(b.Series) == 2 && b.Series[0].Bars[1].Absent && b.Series[1].Bars[0].Absent, "series %+v, want each absent where the other stands", b.Series)
	got := b.Series[0].Bars[0]
	require.That(t, got.Label == "1.10" && got.Low == 1.095 && got.High == 1.105, "published bar %+v, want 1.10 within 1.095 to 1.105", got)
	if got := b.Series[1].Bars[1]; got.Label != "2.500" || got.Hatched {
		t.Errorf("predicted bar %+v, want 2.500 and plain", got)
	}
	if _, err := Render(b, "partly"); err != nil {
		t.Error(err)
	}
}

func TestOverheadBarsUnpublished(t *testing.T) {
	p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: "u"}
	set := &results.Set{}
	require.NoError(t, set.Add(results.Record{Point: p, Metric: results.MetricMicros, Unit: "us", Value: resultstest.Value(t, "2.5"), Role: results.Predicted}))
	f := require.Must(OverheadBars(set, Frame{}, false))(t)
	b := f.(*Bars)
	require.That(t, len(b.Series) == 1 && b.Series[0].Name == "predicted", "series %+v, want the prediction alone", b.Series)
}

// TestOverheadPanels has a panel for each experiment, all with the series of the published figures, so that
// a colour means the same everywhere.
func TestOverheadPanels(t *testing.T) {
	p := require.Must(OverheadPanels(resultstest.SeveralExperiments(t), Frame{YLabel: "us"}, func(p results.Point) string { return p.Machine }))(t)
	for i, want := range []struct {
		title, label string
		groups       int
	}{{"machine all", "us", 6}, {"machine some", "us", 4}, {"machine unpublished", "us", 6}} {
		b := p.Panels[i].(*Bars)
		require.That(t, b.Title == want.title && b.YLabel == want.label && len(b.Groups) == want.groups && len(b.Series) == 2, "panel %d: title %q, label %q, %d groups, %d series; want %+v", i, b.Title, b.YLabel, len(b.Groups), len(b.Series), want)
	}
	n := len(p.legend())
	require.That(t, n == 3, "%d entries in the legend, want published, fitted and predicted once", n)
}

// TestPanelsOfSetups: experiments of one setup share a panel, unless two probes would have the same name. A page
// grows with the rows of panels and has an end.
func TestPanelsOfSetups(t *testing.T) {
	set := func(probes ...string) *results.Set {
		s := &results.Set{}
		for i, name := range probes {
			p := results.Point{Experiment: fmt.Sprint("part-", i), Machine: "m", ISA: "x", Era: "2006", CPUs: 1, Probe: name}
			require.NoError(t, s.Add(results.Record{Point: p, Metric: results.MetricMicros, Value: resultstest.Value(t, "0.5"), Unit: "us", Role: results.Simulated}))
		}
		return s
	}
	title := func(p results.Point) string { return p.Machine + ", " + p.Era }
	for _, c := range []struct {
		probes []string
		titles string
		width  float64
		beside int
	}{
		{[]string{"k", "b", "r"}, "m, 2006", 140, 1},
		{[]string{"k", "b", "k"}, "part-0; part-1; part-2", 140, 3},
		{[]string{"k", "b", "k"}, "part-0; part-1; part-2", 84, 3},
		{[]string{"k", "b", "k"}, "part-0; part-1; part-2", 40, 1},
	} {
		p := require.Must(OverheadPanels(set(c.probes...), Frame{Width: c.width}, title))(t)
		var titles []string
		for _, b := range p.Panels {
			titles = append(titles, b.frame().Title)
		}
		w, _ := size(p)
		if got := strings.Join(titles, "; "); got != c.titles || p.columns(w-2*margin) != c.beside {
			t.Errorf("%v: panels %s, %d beside each other; want %s, %d", c.probes, got, p.columns(w-2*margin), c.titles, c.beside)
		}
	}
	p := require.Must(OverheadPanels(set(slices.Repeat([]string{"k"}, 200)...), Frame{}, title))(t)
	require.Error(t, require.Err(Render(p, "f")), "show fewer", "200 panels fit on a page")
}

// TestPhasePanels: all panels have the same layers, so that a colour means the same everywhere, and one scale.
func TestPhasePanels(t *testing.T) {
	several := resultstest.SeveralExperiments(t)
	without := several.Points()[0]
	without.Experiment, without.Machine = "without", "of no phases"
	require.NoError(t, several.Add(results.Record{Point: without, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "1"), Role: results.Simulated}))
	p := require.Must(PhasePanels(several, resultstest.SamplePhases(), Frame{YLabel: "cycles"}, func(p results.Point) string { return p.Machine }))(t)
	one := require.Must(PhaseStack(resultstest.Sample(t), resultstest.SamplePhases(), Frame{}))(t)
	alone := one.(*Stack)
	require.Need(t, len(p.Panels) == 3, "%d panels, want 3", len(p.Panels))
	for _, panel := range p.Panels {
		st := panel.(*Stack)
		require.That(t, len(st.Layers) == len(alone.Layers) && len(st.Totals) == len(st.Groups), "%s: %d layers and %d totals of %d groups, alone %d layers", st.Title, len(st.Layers), len(st.Totals), len(st.Groups), len(alone.Layers))
	}
	require.Equal(t, len(p.legend()), len(alone.Layers), "entries in the legend")
	if _, err := Render(p, "phases"); err != nil {
		t.Error(err)
	}
	p = require.Must(PhasePanels(several, resultstest.SamplePhases()[:1], Frame{}, func(p results.Point) string { return p.Machine }))(t)
	require.Equal(t, len(p.Panels), 3, "panels of one phase")
}

func TestOverheadFiguresOfNothing(t *testing.T) {
	require.That(t, require.Err(OverheadPanels(&results.Set{}, Frame{}, nil)) != nil, "panels of nothing")
	require.That(t, require.Err(OverheadBars(&results.Set{}, Frame{}, false)) != nil, "bars of nothing")
	require.That(t, require.Err(PhaseStack(&results.Set{}, resultstest.SamplePhases(), Frame{})) != nil, "a stack of nothing")
	require.That(t, require.Err(PhaseStack(resultstest.Sample(t), nil, Frame{})) != nil, "a stack of no phases")
}

// TestPhaseStack leaves out the phase that no probe spends a cycle in.
func TestPhaseStack(t *testing.T) {
	f := require.Must(PhaseStack(resultstest.Sample(t), resultstest.SamplePhases(), Frame{}))(t)
	st := f.(*Stack)
	if len(st.Groups) != 6 || len(st.Layers) != 7 || st.Layers[0].Name != "entry" {
		t.Errorf("%d groups, %d layers, first %q; want 6, 7, entry",
			len(st.Groups), len(st.Layers), st.Layers[0].Name)
	}
}

// TestRepeatsInWhisker widens the whisker of a published bar by what repeats differ, and says so.
func TestRepeatsInWhisker(t *testing.T) {
	p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Seed: 1, Probe: "k"}
	for repeats, want := range map[string][2]float64{"0.2": {0.795, 1.205}, "0": {0.995, 1.005}} {
		set := &results.Set{}
		require.NoError(t, set.Add(
			results.Record{Point: p, Metric: results.MetricMicros, Unit: "us", Value: resultstest.Value(t, "1"), Role: results.Predicted, Source: ""},
			results.Record{Point: p, Metric: results.MetricPublished, Unit: "us", Value: resultstest.Value(t, "1.00"), Role: results.Measured, Source: "A paper"},
			results.Record{Point: p, Metric: results.MetricRepeats, Unit: "us", Value: resultstest.Value(t, repeats), Role: results.Measured, Source: ""},
		))
		f := require.Must(OverheadBars(set, Frame{}, false))(t)
		b := f.(*Bars)
		bar := b.Series[0].Bars[0]
		require.Equal(t, [2]float64{bar.Low, bar.High}, want, "whisker of figures that differ by %s", repeats)
		said := strings.Contains(strings.Join(b.Caption, "\n"), "when they are measured again")
		require.Equal(t, said, repeats != "0", "whether a caption says that figures differ by %s", repeats)
	}
}

// TestTornadoOfNothing says why there is no figure where no number was moved, or where none moves a row.
func TestTornadoOfNothing(t *testing.T) {
	s := &results.Set{}
	p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k"}
	add := func(p results.Point, metric string) {
		require.NoError(t, s.Add(results.Record{Point: p, Metric: metric, Unit: "cycles", Value: resultstest.Value(t, "0"), Role: results.Simulated}))
	}
	add(p, results.MetricCycles)
	_, err := TornadoOf(s, Frame{}, 3)
	require.That(t, errors.Is(err, ErrNotSwept) && strings.Contains(err.Error(), "it is a figure of the command sensitivity"), "%v", err)
	add(p.WithNumber("n"), results.MetricLowPct)
	_, err = TornadoOf(s, Frame{}, 3)
	require.That(t, errors.Is(err, ErrNotSwept) && strings.Contains(err.Error(), "no number moves a row"), "%v", err)
}
