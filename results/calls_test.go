package results

import (
	"math"
	"strings"
	"testing"
)

// sampleECDF has a curve with a band, one that is a single value, and one without intervals.
func sampleECDF() *ECDF {
	e := &ECDF{Frame: Frame{Title: "Calls", XLabel: "cycles of a call", YLabel: "calls, %"}}
	var banded, plain []Step
	for i, share := range CallShares() {
		x := 100 * math.Pow(1.1, float64(i))
		banded = append(banded, Step{Share: float64(share) / 1000, X: x, Low: 0.9 * x, High: 1.2 * x})
		plain = append(plain, Step{Share: float64(share) / 1000, X: 3000 + 2*x})
	}
	e.Curves = []Curve{{"banded", banded}, {"one value", []Step{{Share: 1, X: 700}}}, {"plain", plain}}
	return e
}

// A chart refuses what is no distribution and what its axes cannot show.
func TestECDFRefuses(t *testing.T) {
	for want, steps := range map[string][]Step{
		"no steps":        {},
		"not positive":    {{Share: 1, X: 0}},
		"value NaN":       {{Share: math.NaN(), X: 1}},
		"behind 50% at 9": {{Share: 0.5, X: 9}, {Share: 0.6, X: 8}},
		"behind 50% at 8": {{Share: 0.5, X: 8}, {Share: 0.4, X: 9}},
		"200% of":         {{Share: 2, X: 8}},
		"logarithmic":     {{Share: 1, X: 8, Low: 0, High: 9}},
	} {
		_, err := Render(&ECDF{Curves: []Curve{{"c", steps}}}, "x")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `curve "c"`) {
			t.Errorf("%v: %v, want %q", steps, err, want)
		}
	}
	if _, err := Render(&ECDF{}, "x"); err == nil {
		t.Error("a chart of nothing is drawn")
	}
}

// A set's percentiles make a curve for each probe that has them, and a set without any has no chart.
func TestCallCurves(t *testing.T) {
	set := sample(t)
	if _, err := CallCurves(set, Frame{}); err == nil || !strings.Contains(err.Error(), "workload.latencies") {
		t.Errorf("a set without times: %v", err)
	}
	p := set.Points()[1]
	for i, share := range CallShares() {
		v, err := Ratio(int64(100+i), 1)
		check(t, err)
		check(t, set.Add(Record{Point: p, Metric: CallMetric(share), Unit: "cycles", Value: v, Role: Predicted}))
	}
	e, err := CallCurves(set, Frame{})
	check(t, err)
	last := len(CallShares()) - 1
	if len(e.Curves) != 1 || e.Curves[0].Name != "b" || e.Curves[0].Steps[last] != (Step{Share: 1, X: float64(100 + last)}) {
		t.Errorf("curves %+v", e.Curves)
	}
	if CallMetric(500) != "cycles_call_p50" || CallMetric(999) != "cycles_call_p99.9" {
		t.Errorf("metrics %s, %s", CallMetric(500), CallMetric(999))
	}
	text := Tabulate(set, OverheadColumns(nil)).Text()
	if !strings.Contains(text, "call p50") || !strings.Contains(text, "longest") {
		t.Errorf("table:\n%s", text)
	}
}

// What of an error is unexplained is that of the mean of the replicates: here one replicate lies outside of the
// rounding and one inside, and so does the mean.
func TestUnexplainedOfMeans(t *testing.T) {
	set := &Set{}
	for i, us := range []string{"1.1", "1.002"} {
		p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k", Replicate: i}
		doubts := []Value{value(t, "0.005"), value(t, "0.016")}
		left, err := Unexplained(value(t, us), value(t, "1.00"), doubts...)
		check(t, err)
		for metric, v := range map[string]Value{
			MetricMicros: value(t, us), MetricPublished: value(t, "1.00"), MetricRounding: doubts[0], MetricRepeats: doubts[1],
			MetricUnexplained: left,
		} {
			check(t, set.Add(Record{Point: p, Metric: metric, Unit: "us", Value: v, Role: Predicted}))
		}
	}
	means := Means(set)
	if r, _ := means.Get(means.Points()[0], MetricUnexplained); r.Value.String() != "3" {
		t.Errorf("unexplained %s %%, want 5.1 %% less 2.1 %%", r.Value)
	}
}
