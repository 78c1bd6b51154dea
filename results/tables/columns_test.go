package tables

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestColumns holds tables of three replicates with every metric that their columns know, each with more digits than a table shows.
func TestColumns(t *testing.T) {
	s := &results.Set{}
	for i := range 6 {
		p := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: []string{"k", "o"}[i%2], Replicate: i / 2}
		for j, metric := range []string{
			results.MetricCycles, results.MetricMicros, results.MetricPublished, results.MetricRounding, results.MetricRepeats, results.MetricError,
			results.MetricUnexplained, results.MetricInstructions, results.PhaseMetric("step"), results.CallMetric(500), results.CallMetric(900),
			results.CallMetric(990), results.CallMetric(1000), results.MetricFirst,
		} {
			v := require.Must(results.Ratio(int64(1000*(j+1)+37*i*(j%5+1)), 7))(t)
			if metric == results.MetricPublished { // as printed
				v = resultstest.Value(t, "0.30")
			}
			require.NoError(t, s.Add(results.Record{Point: p, Metric: metric, Unit: "u", Value: v, Role: []results.Role{results.Fitted, results.Predicted}[i%2]}))
		}
	}
	means := results.Means(s)
	var out strings.Builder
	for _, columns := range [][]ColumnSpec{PublishedColumns(false), PublishedColumns(true), OverheadColumns(means, []string{"step"})} {
		out.WriteString(Tabulate(means, columns).Text())
	}
	require.Golden(t, *update, "columns.txt", []byte(out.String()))
}
