package reports_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/outdir"
)

// Replicates are the same files for any number of workers, in the order of their numbers, and the files draw
// the same figures again.
func TestReplicatesAreTheSameEverywhere(t *testing.T) {
	exptest.Alone(t)
	want := filesOf(t, func(workers int) *reports.Report {
		p := require.Must(planning.NewLoader().Plan(exptest.E5410, []string{"replicates=2", "workload.hits=20", "seed=7"}))(t)
		return reports.Collect(p).Report((&running.Runner{Measure: kinds.Measure, Workers: workers}).Run(p))
	})
	dir := t.TempDir() + "/r"
	require.NoError(t, outdir.WriteDir(dir, want))
	require.NoError(t, reports.Redraw(dir, nil, reports.Look{}))
	for file := range want {
		again, err := os.ReadFile(filepath.Join(dir, file))
		require.That(t, err == nil && bytes.Equal(again, want[file]), "%s differs when it is drawn again", file)
	}
}

// Tables and differences of a collection are of the means, one row a point, and the file has a row a
// replicate.
func TestCollectionOfReplicates(t *testing.T) {
	one, r := collectionReport(t, 1), collectionReport(t, 3, "replicates=3")
	n, want := r.Set.Len(), 3*one.Set.Len()
	require.That(t, n == want, "%d records of three replicates, want %d", n, want)
	tables, plain := r.Tables(), one.Tables()
	for i := range plain {
		require.That(t, len(tables[i].Rows) == len(plain[i].Rows), "table %d has %d rows, want %d", i, len(tables[i].Rows), len(plain[i].Rows))
	}
	// The toy's replicates cost 0, 1 and 2 cycles more, so the mean is that of one replicate and one or two more.
	for _, p := range r.Means.Points() {
		got, _ := r.Means.Get(p, results.MetricCycles)
		base, _ := one.Set.Get(p, results.MetricCycles)
		more := got.Value.Sub(base.Value).Float()
		if want := map[string]float64{"k": 2, "b": 1}[p.Probe]; more != want || got.Spread.Of != 3 {
			t.Errorf("%s costs %v cycles more than its first replicate, want %v; %+v", p.Probe, more, want, got.Spread)
		}
		micros, _ := r.Means.Get(p, results.MetricMicros)
		published, _ := r.Means.Get(p, results.MetricPublished)
		wrong, _ := r.Means.Get(p, results.MetricError)
		want, err := results.ErrorPercent(micros.Value, published.Value)
		d := wrong.Value.Sub(want).Abs()
		require.That(t, err == nil && !(d.Float() > 0.0001), "%s: error %s %%, that of the mean is %s %%", p.Probe, wrong.Value, want)
	}
	text := tables[0].Text()
	require.That(t, strings.Contains(text, "mean of 3 replicates") && strings.Contains(text, "interval"), "table:\n%s", text)
}
