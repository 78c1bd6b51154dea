package figures

import (
	"math"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
	"kprobesim/results/tables"
)

// sampleECDF has a curve with a band, one that is a single value, and one without intervals.
func sampleECDF() *ECDF {
	e := &ECDF{Frame: Frame{Title: "Calls", XLabel: "cycles of a call", YLabel: "calls, %"}}
	var banded, plain []Step
	for i, share := range results.CallShares() {
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
		require.That(t, err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), `curve "c"`), "%v: %v, want %q", steps, err, want)
	}
	require.That(t, require.Err(Render(&ECDF{}, "x")) != nil, "a chart of nothing is drawn")
}

// A set's percentiles make a curve for each probe that has them, and a set without any has no chart.
func TestCallCurves(t *testing.T) {
	set := resultstest.Sample(t)
	require.Error(t, require.Err(CallCurves(set, Frame{})), "workload.latencies", "a set without times")
	p := set.Points()[1]
	for i, share := range results.CallShares() {
		v := require.Must(results.Ratio(int64(100+i), 1))(t)
		require.NoError(t, set.Add(results.Record{Point: p, Metric: results.CallMetric(share), Unit: "cycles", Value: v, Role: results.Predicted}))
	}
	e := require.Must(CallCurves(set, Frame{}))(t)
	last := len(results.CallShares()) - 1
	require.That(t, len(e.Curves) == 1 && e.Curves[0].Name == "b" && e.Curves[0].Steps[last] == (Step{Share: 1, X: float64(100 + last)}), "curves %+v", e.Curves)
	if results.CallMetric(500) != "cycles_call_p50" || results.CallMetric(999) != "cycles_call_p99.9" {
		t.Errorf("metrics %s, %s", results.CallMetric(500), results.CallMetric(999))
	}
	text := tables.Tabulate(set, tables.OverheadColumns(set, nil)).Text()
	require.That(t, strings.Contains(text, "call p50") && strings.Contains(text, "longest"), "table:\n%s", text)
}
