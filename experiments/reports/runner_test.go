package reports_test

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// files runs the toy experiment and returns the results directory.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	return filesOf(t, func(workers int) *reports.Report {
		dir := t.TempDir()
		exptest.Write(t, dir, "machine.toml", exptest.ToyMachine)
		file := exptest.Write(t, dir, "toy.toml", exptest.ToyExperiment+"[sweep]\n\"workload.hits\" = [10, 20, 30]\n")
		p := require.Must(exptest.ToyLoader().Plan(file, nil))(t)
		return reports.Collect(p).Report((&running.Runner{Measure: exptest.ToyMeasure, Workers: workers}).Run(p))
	})
}

func TestResultsDoNotDependOnWorkers(t *testing.T) {
	one := files(t)
	want := []string{
		"bench.txt", "inputs.txt", "manifest.json", "overhead.pdf", "overhead.png", "overhead.svg", "overhead.tex",
		"phases.pdf", "phases.png", "phases.svg", "phases.tex", "results.csv", "results.json",
	}
	got := slices.Sorted(maps.Keys(one))
	require.That(t, slices.Equal(got, want), "files are %v, want %v", got, want)
	exptest.Golden(t, "toy_results.csv", withoutIdlePhases(string(one["results.csv"])))
}

// withoutIdlePhases leaves out the rows of phases that no toy has code of, each of which must be 0.
func withoutIdlePhases(csv string) string {
	return regexp.MustCompile(`(?m)^.*,cycles_phase_(dispatch|return|kretprobe|detour|irq|idle|stop),cycles,0,.*\n`).
		ReplaceAllString(csv, "")
}

func TestFailingPointLeavesOthers(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	for _, c := range []struct {
		name    string
		measure running.Measure
		want    string
	}{
		{"error", func(pt *schema.Point) (*kinds.Measurement, error) {
			if pt.Name == "k" {
				return nil, errors.New("the guest loops for ever")
			}
			return exptest.ToyMeasure(pt)
		}, "point k: the guest loops for ever"},
		{"panic", func(pt *schema.Point) (*kinds.Measurement, error) {
			if pt.Name == "k" {
				panic("a broken invariant")
			}
			return exptest.ToyMeasure(pt)
		}, "point k: internal error: a broken invariant"},
	} {
		r := reports.Collect(p).Report((&running.Runner{Measure: c.measure}).Run(p))
		if err := r.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		n := len(r.Set.Points())
		require.That(t, n == 1, "%s: %d points have records, want 1", c.name, n)
		f, err := r.Files()
		require.That(t, err == nil && strings.Contains(string(f["manifest.json"]), `"failed"`), "%s: the manifest does not name the failure (%v)", c.name, err)
	}
}
