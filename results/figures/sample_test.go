package figures

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// sampleFigures are one figure of each kind and of each difficulty.
func sampleFigures(t testing.TB) map[string]Figure {
	t.Helper()
	set := resultstest.Sample(t)
	frame := Frame{
		Title:  "Overhead of one probe hit: Xeon E5410, 2.33 GHz, x86-64",
		XLabel: "probe kind", YLabel: "µs per hit",
		Caption: []string{"fitted on k and b; whiskers: rounding of the printed figure"},
	}
	bars := require.Must(OverheadBars(set, frame, false))(t)
	logBars := require.Must(OverheadBars(set, frame, true))(t)
	stack, err := PhaseStack(set, resultstest.SamplePhases(), Frame{
		Title: "Where the cycles of a hit go", XLabel: "probe kind", YLabel: "cycles per hit",
	})
	require.NoError(t, err)
	panels, err := OverheadPanels(resultstest.SeveralExperiments(t), Frame{Title: "Three machines", YLabel: "µs per hit", Width: 165, Height: 150},
		func(p results.Point) string { return p.Machine })
	require.NoError(t, err)
	return map[string]Figure{
		"bars": bars, "bars-log": logBars, "stack": stack, "panels": panels, "tornado": sampleTornado(),
		"lines": sampleLines(), "crowded": crowdedBars(), "ecdf": sampleECDF(),
	}
}

// sampleTornado has a panel with a number that has one end, one with few numbers, and a long name.
func sampleTornado() *Tornado {
	return &Tornado{
		Frame: Frame{Title: "What moves a hit", XLabel: "change, %", Caption: []string{"each number alone"}}, Columns: 2,
		Panels: []TornadoPanel{
			{"k", []Swing{{"event.load_use", -4, 4}, {"event.exception_debug.more", 0, -2.5}, {"predictor.history_bits", 0.7, 0.2}}},
			{"b", []Swing{{"cost.locked.issue", -1, 1.5}}},
			{"o", []Swing{{"event.load_use", -6.9, 6.9}}},
		},
	}
}

func sampleLines() *Lines {
	l := &Lines{LogX: true, Frame: Frame{
		Title: "Handler work", XLabel: "iterations in the handler", YLabel: "cycles per hit",
	}}
	for i, name := range []string{"k", "b", "o", "r", "rb", "ro"} {
		s := LineSeries{Name: name}
		for x := 1.0; x <= 1024; x *= 4 {
			s.Points = append(s.Points, XY{X: x, Y: 2400 - 380*float64(i) + 3*x})
		}
		l.Series = append(l.Series, s)
	}
	l.Series[0].Points[3].Low, l.Series[0].Points[3].High = 2300, 2900
	return l
}

// crowdedBars has too little room for its names and labels.
func crowdedBars() *Bars {
	b := &Bars{Frame: Frame{
		Width: 84, Height: 60, YLabel: "cycles",
		Caption: []string{"a long caption of one paragraph that needs more than one line in a column of a paper"},
	}}
	names := []string{"measured on the machine", "throughput model", "window model"}
	for i, name := range names {
		s := BarSeries{Name: name, HatchedName: name + " (fitted)"}
		for g := range 7 {
			v := float64(900 + 137*i + 411*g)
			s.Bars = append(s.Bars, Bar{Value: v, Label: "12345.6", Hatched: g == 2 && i > 0, Absent: g == 4 && i == 0})
		}
		b.Series = append(b.Series, s)
	}
	b.Groups = []string{"kprobe", "boosted kprobe", "optimized", "kretprobe", "boosted kretprobe", "jprobe", "uprobe"}
	return b
}
