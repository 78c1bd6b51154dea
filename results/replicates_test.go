package results

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
)

// replicated is a set of one probe and three replicates.
func replicated(t testing.TB) *Set {
	t.Helper()
	set := &Set{}
	for i, cycles := range []string{"100", "101.5", "104.5"} {
		p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k", Replicate: i}
		check(t, set.Add(
			Record{Point: p, Metric: MetricCycles, Unit: "cycles", Value: value(t, cycles), Role: Fitted},
			Record{Point: p, Metric: MetricPublished, Unit: "us", Value: value(t, "0.30"), Role: Measured, Source: "paper"},
		))
	}
	return set
}

// The mean is exact, the interval holds it and lies within the values, and what all replicates agree on keeps
// its digits and its source.
func TestMeansOfReplicates(t *testing.T) {
	set := replicated(t)
	means := Means(set)
	if means.Len() != 2 || set.Len() != 6 {
		t.Fatalf("%d means of %d records", means.Len(), set.Len())
	}
	p := means.Points()[0]
	r, _ := means.Get(p, MetricCycles)
	if r.Value != value(t, "102") || r.Role != Fitted || r.Spread.Of != 3 {
		t.Errorf("mean %+v", r)
	}
	if r.Spread.Low != value(t, "100") || r.Spread.High != value(t, "104.5") {
		t.Errorf("interval %s to %s: with three values its ends are the extremes", r.Spread.Low, r.Spread.High)
	}
	pub, _ := means.Get(p, MetricPublished)
	if pub.Value.String() != "0.30" || pub.Source != "paper" || pub.Spread.Low != pub.Value || pub.Spread.High != pub.Value {
		t.Errorf("published %+v", pub)
	}
	if one := sample(t); Means(one) != one {
		t.Error("a set without replicates is not its own mean")
	}
}

// The interval of a mean of normal size narrows with the root of the number of replicates, and is that of
// the known distribution: for n even numbers from 0 to n-1 the standard error is near n/sqrt(12 n).
func TestBootstrapWidth(t *testing.T) {
	for _, n := range []int64{20, 80} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(i) * 1000
		}
		low, high := bootstrap(values)
		got := float64(high.micros - low.micros)
		want := 2 * 1.96 * 1000 * float64(n) / 3.4641 / map[int64]float64{20: 4.4721, 80: 8.9443}[n]
		if got < 0.93*want || got > 1.07*want {
			t.Errorf("%d values: interval of %.0f, want about %.0f", n, got, want)
		}
		mean := (n - 1) * 500
		if low.micros >= mean || high.micros <= mean {
			t.Errorf("%d values: %s to %s does not hold the mean", n, low, high)
		}
	}
	low, high := bootstrap([]int64{-maxMicros, maxMicros, 0})
	if low.micros != -maxMicros || high.micros != maxMicros {
		t.Errorf("values whose sums do not fit: %s to %s", low, high)
	}
}

// The file of a set with replicates has a column more and reads back to the same bytes; a column that says
// nothing is refused.
func TestReplicateColumn(t *testing.T) {
	data := replicated(t).CSV()
	if !bytes.HasPrefix(data, []byte("experiment,machine,isa,era,cpus,seed,replicate,probe,")) {
		t.Errorf("header of %s", data)
	}
	back, err := ReadCSV("x.csv", bytes.NewReader(data))
	check(t, err)
	if !bytes.Equal(back.CSV(), data) || back.Points()[2].Replicate != 2 {
		t.Errorf("read back:\n%s", back.CSV())
	}
	if bytes.Contains(sample(t).CSV(), []byte("replicate")) {
		t.Error("a set without replicates has the column")
	}
	for text, want := range map[string]string{
		strings.ReplaceAll(string(data), ",0,1,k", ",0,01,k"):        `x.csv:4: replicate "01"`,
		strings.ReplaceAll(string(data), ",0,1,k", ",0,-1,k"):        `x.csv:4: replicate "-1"`,
		strings.Join(strings.SplitAfter(string(data), "\n")[:3], ""): "x.csv:1: column replicate",
		strings.ReplaceAll(string(data), ",0,1,k", ",0,2,k"):         "x.csv:6: record e k cycles_per_hit is there twice",
		strings.Replace(string(data), "\n", "\n1,2\n", 1):            "x.csv:2: 2 fields, want 11",
	} {
		if _, err := ReadCSV("x.csv", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q of\n%s", err, want, text)
		}
	}
}

// Replicates are lines of one name in the benchmark format, and their units are not exact.
func TestBenchReplicates(t *testing.T) {
	data, err := BenchText(replicated(t), OverheadBench())
	check(t, err)
	if strings.Contains(string(data), "assume=exact") || strings.Count(string(data), "BenchmarkOverhead/probe=k 1 ") != 3 ||
		strings.Count(string(data), "experiment:") != 1 {
		t.Errorf("benchmark format:\n%s", data)
	}
}

// A table shows the interval where it shows in the digits of the column, and the charts have it as whiskers.
func TestIntervalsAreShown(t *testing.T) {
	set := Means(replicated(t))
	text := Tabulate(set, []ColumnSpec{
		{Title: "cycles", Metric: MetricCycles, Decimals: 1, Interval: true},
		{Title: "published", Metric: MetricPublished, Decimals: 2, Interval: true},
	}).Text()
	if !strings.Contains(text, "102.0  100.0 to 104.5       0.30\n") || !strings.Contains(text, "mean of 3 replicates") {
		t.Errorf("table:\n%s", text)
	}
	if bar := (BarMetric{Metric: MetricCycles}).series(set, set.Points()).Bars[0]; bar.Low != 100 || bar.High != 104.5 || bar.Value != 102 {
		t.Errorf("bar %+v", bar)
	}
	if bar := (BarMetric{Metric: MetricPublished}).series(set, set.Points()).Bars[0]; bar.whisker() {
		t.Errorf("bar of values that agree %+v", bar)
	}
}

// TestSweepIntervals has the intervals of replicates as whiskers of the lines of a sweep: none where all agree, none on a
// logarithmic axis for an end that has no place there, and in the unit of the axis.
func TestSweepIntervals(t *testing.T) {
	set := &Set{}
	for cpus, values := range map[string][]string{"1": {"3000", "3100", "3300"}, "2": {"4000", "4000", "4000"}, "4": {"1000", "0", "8000"}} {
		for i, v := range values {
			p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k/cpus=" + cpus, Replicate: i}
			check(t, set.Add(Record{Point: p, Metric: "n", Unit: "us", Value: value(t, v), Role: Predicted}))
		}
	}
	draw := func(set *Set, log bool) *Lines {
		t.Helper()
		c := chart("cpus", true, log, SweepLine{Metric: "n", Series: Point.Name})
		c.Frame.YLabel = "microseconds"
		l, err := linesOf(c, set)
		check(t, err)
		slices.SortFunc(l.Series[0].Points, func(a, b XY) int { return cmp.Compare(a.X, b.X) })
		return l
	}
	want := []XY{{1, 3133.333333, 3000, 3300}, {2, 4000, 0, 0}, {4, 3000, 0, 8000}}
	means := Means(set)
	for _, log := range []bool{false, true} {
		l := draw(means, log)
		if l.YLabel != "milliseconds" {
			t.Errorf("axis in %s", l.YLabel)
		}
		if log {
			want[2].High = 0
		}
		for i, p := range l.Series[0].Points {
			w := want[i]
			if near := func(a, b float64) bool { return math.Abs(1000*a-b) < 1e-5 }; p.X != w.X || !near(p.Y, w.Y) || !near(p.Low, w.Low) || !near(p.High, w.High) {
				t.Errorf("logarithmic %t: point %+v in milliseconds, want %+v in microseconds", log, p, w)
			}
		}
	}
	with, without := draw(means, false), draw(means, false)
	for i := range without.Series[0].Points {
		without.Series[0].Points[i].Low, without.Series[0].Points[i].High = 0, 0
	}
	if n := strokes(t, with) - strokes(t, without); n != 2*3 {
		t.Errorf("two whiskers are drawn by %d strokes, want a line with two ends for each", n)
	}
}

// TestOverheadIntervals has the intervals of replicates as whiskers of the bars of an overhead figure.
func TestOverheadIntervals(t *testing.T) {
	set := &Set{}
	for i, us := range []string{"0.98", "0.99", "1.03"} {
		p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k", Replicate: i}
		check(t, set.Add(
			Record{Point: p, Metric: MetricMicros, Unit: "us", Value: value(t, us), Role: Fitted},
			Record{Point: p, Metric: MetricPublished, Unit: "us", Value: value(t, "1.99"), Role: Measured},
		))
	}
	f, err := OverheadBars(Means(set), Frame{YLabel: "us"}, false)
	check(t, err)
	b := f.(*Bars)
	bar := &b.Series[1].Bars[0]
	if bar.Value != 1 || bar.Low != 0.98 || bar.High != 1.03 {
		t.Errorf("simulated bar %+v, want 1 with a whisker from 0.98 to 1.03", bar)
	}
	with := strokes(t, b)
	bar.Low, bar.High = 0, 0
	if n := with - strokes(t, b); n != 3 {
		t.Errorf("a whisker is drawn by %d strokes, want a line with two ends", n)
	}
}

// strokes counts the lines of a figure.
func strokes(t *testing.T, f Figure) int {
	t.Helper()
	files, err := Render(f, "f")
	check(t, err)
	return strings.Count(string(files["f.svg"]), "<path")
}
