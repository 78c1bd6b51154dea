package results

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/name; on a difference the new bytes are left beside it as name.got.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(want, got) {
		return
	}
	if err := os.WriteFile(path+".got", got, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s differs from %s.got; look at both, then run go test -update", path, path)
}

func samplePhases() []string {
	return []string{"entry", "dispatch", "handler", "step", "return", "kretprobe", "detour", "gap"}
}

// sample is the six published figures of one machine with predictions made up for the tests.
func sample(t testing.TB) *Set {
	t.Helper()
	rows := []struct {
		probe, published, cycles, instructions, first string
		role                                          Role
		phases                                        []int64
	}{
		{"k", "0.99", "2306.7", "412", "6120", Fitted, []int64{760, 410, 9, 540, 587, 0, 0, 0}},
		{"b", "0.43", "1001.9", "233", "4830", Fitted, []int64{380, 305, 9, 0, 307, 0, 0, 0}},
		{"o", "0.06", "151.2", "98", "1402", Predicted, []int64{0, 40, 9, 0, 0, 0, 102, 0}},
		{"r", "1.24", "2811.333333", "560", "7702", Predicted, []int64{760, 430, 9, 540, 590, 482, 0, 0}},
		{"rb", "0.68", "1502.25", "371", "6255", Predicted, []int64{380, 320, 9, 0, 310, 483, 0, 0}},
		{"ro", "0.30", "702.125", "240", "3011", Predicted, []int64{0, 50, 9, 0, 0, 480, 163, 0}},
	}
	set := &Set{}
	for _, row := range rows {
		p := Point{Experiment: "overhead", Machine: "xeon-e5410", ISA: "x86_64", Era: "2010", CPUs: 1, Seed: 1, Probe: row.probe}
		cycles := value(t, row.cycles)
		micros, err := Ratio(cycles.micros, 2_330*microsPerUnit)
		check(t, err)
		published := value(t, row.published)
		errPct, err := ErrorPercent(micros, published)
		check(t, err)
		check(t, set.Add(
			Record{p, MetricCycles, "cycles", cycles, row.role, "", Interval{}},
			Record{p, MetricMicros, "us", micros, row.role, "", Interval{}},
			Record{p, MetricInstructions, "instructions", value(t, row.instructions), Predicted, "", Interval{}},
			Record{p, MetricFirst, "cycles", value(t, row.first), Predicted, "", Interval{}},
			Record{p, MetricPublished, "us", published, Measured, "Documentation/kprobes.txt, 2010", Interval{}},
			Record{p, MetricError, "%", errPct, row.role, "", Interval{}},
		))
		for i, phase := range samplePhases() {
			v, err := Ratio(row.phases[i], 1)
			check(t, err)
			check(t, set.Add(Record{p, PhaseMetric(phase), "cycles", v, row.role, "", Interval{}}))
		}
	}
	return set
}

func value(t testing.TB, s string) Value {
	t.Helper()
	v, err := ParseValue(s)
	check(t, err)
	return v
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sampleFigures are one figure of each kind and of each difficulty.
func sampleFigures(t testing.TB) map[string]Figure {
	t.Helper()
	set := sample(t)
	frame := Frame{
		Title:  "Overhead of one probe hit: Xeon E5410, 2.33 GHz, x86-64",
		XLabel: "probe kind", YLabel: "µs per hit",
		Caption: []string{"fitted on k and b; whiskers: rounding of the printed figure"},
	}
	bars, err := OverheadBars(set, frame, false)
	check(t, err)
	logBars, err := OverheadBars(set, frame, true)
	check(t, err)
	stack, err := PhaseStack(set, samplePhases(), Frame{
		Title: "Where the cycles of a hit go", XLabel: "probe kind", YLabel: "cycles per hit",
	})
	check(t, err)
	panels, err := OverheadPanels(severalExperiments(t), Frame{Title: "Three machines", YLabel: "µs per hit", Width: 165, Height: 150},
		func(p Point) string { return p.Machine })
	check(t, err)
	return map[string]Figure{
		"bars": bars, "bars-log": logBars, "stack": stack, "panels": panels, "tornado": sampleTornado(),
		"lines": sampleLines(), "crowded": crowdedBars(), "ecdf": sampleECDF(),
	}
}

// severalExperiments is the sample three times: as it is, with fewer probes, and unpublished.
func severalExperiments(t testing.TB) *Set {
	set := &Set{}
	for i, name := range []string{"all", "some", "unpublished"} {
		for _, r := range sample(t).Records() {
			if i == 1 && len(r.Probe) > 1 || i == 2 && r.Metric == MetricPublished {
				continue
			}
			r.Experiment, r.Machine = name, "machine "+name
			check(t, set.Add(r))
		}
	}
	return set
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
