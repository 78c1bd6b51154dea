package compare

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestCompareEqual(t *testing.T) {
	d := Exact(resultstest.Sample(t), resultstest.Sample(t))
	require.That(t, d.Empty(), "equal sets differ: %+v", d)
}

// moved is the sample with one of each kind of difference.
func moved(t *testing.T) *results.Set {
	now := &results.Set{}
	for r := range resultstest.Sample(t).All() {
		r.Source = "elsewhere" // does not count
		switch r.Probe + " " + r.Metric {
		case "k " + results.MetricCycles:
			r.Value = resultstest.Value(t, "2306.700001")
		case "b " + results.MetricCycles:
			r.Role = results.Predicted
		case "ro " + results.MetricPublished:
			r.Value = resultstest.Value(t, "0.3")
		case "k " + results.PhaseMetric("detour"):
			r.Value = resultstest.Value(t, "7")
		case "r " + results.MetricInstructions:
			r.Value, r.Unit = resultstest.Value(t, "280"), "insns"
		case "o " + results.MetricError:
			continue
		}
		require.NoError(t, now.Add(r))
	}
	p := now.Points()[0]
	p.Probe = "j"
	require.NoError(t, now.Add(results.Record{Point: p, Metric: results.MetricCycles, Unit: "cycles", Value: resultstest.Value(t, "99"), Role: results.Predicted}))
	return now
}

func TestExact(t *testing.T) {
	d := Exact(resultstest.Sample(t), moved(t))
	require.That(t, len(d.Moved) == 5 && len(d.Missing) == 1 && len(d.Added) == 1, "%d moved, %d missing, %d new; want 5, 1, 1", len(d.Moved), len(d.Missing), len(d.Added))
	var texts []string
	for _, c := range d.Moved {
		texts = append(texts, c.Old.Probe+" "+c.Old.Metric+": "+c.Text())
	}
	require.Golden(t, *update, "diff.txt", []byte(strings.Join(texts, "\n")+"\n"))
}

func TestBaselineFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deeper", "overhead.csv")
	require.Error(t, require.Err(LoadBaseline(path)), "overhead.csv", "absent baseline")
	for _, set := range []*results.Set{resultstest.Sample(t), moved(t)} {
		require.NoError(t, SaveBaseline(path, set))
		back := require.Must(LoadBaseline(path))(t)
		d := Exact(back, set)
		require.That(t, d.Empty(), "saved and loaded differ: %+v", d)
	}
	require.That(t, SaveBaseline(filepath.Dir(path), resultstest.Sample(t)) != nil, "a folder was replaced by a baseline")
	above, below := require.Must(os.Stat(filepath.Dir(filepath.Dir(path))))(t).Mode(), require.Must(os.Stat(filepath.Dir(path)))(t).Mode()
	require.That(t, below == above&^0o022, "a folder with %v in one with %v", below, above)
	entries := require.Must(os.ReadDir(filepath.Dir(path)))(t)
	require.That(t, len(entries) == 1, "%d files beside the baseline, want it alone", len(entries))
}
