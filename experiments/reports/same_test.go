package reports_test

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// steps counts what it is told of.
type steps int

// Step implements cpus.Observer.
func (n *steps) Step(*cpus.Step) { *n++ }

// The results directory is the same to the byte for any number of processors and workers, in every
// run, and with an observer that is told of every instruction: for an experiment, and for the collection,
// which has every instruction set in every era.
func TestResultsAreTheSameEverywhere(t *testing.T) {
	names := []string{exptest.E5410}
	if hosttools.Whole(t, "a collection on any number of workers", "one of its experiments, and a collection with made-up points") {
		names = append(names, "overhead-published")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) { sameEverywhere(t, name) })
	}
}

func sameEverywhere(t *testing.T, name string) {
	var seen steps
	watched := func(p *schema.Point) (*kinds.Measurement, error) {
		return kinds.Observed(p, func(*sim.Machine) cpus.Observer { return &seen })
	}
	var want map[string][]byte
	for _, c := range []struct {
		name           string
		procs, workers int
		measure        running.Measure
	}{
		{"one processor", 1, 1, kinds.Measure},
		{"two processors", 2, 5, kinds.Measure},
		{"observed", 1, 1, watched},
	} {
		got := directory(t, name, c.procs, c.workers, c.measure)
		if want == nil {
			want = got
		}
		require.That(t, slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))), "%s: other files", c.name)
		for name := range want {
			require.That(t, bytes.Equal(got[name], want[name]), "%s: %s differs", c.name, name)
		}
	}
	require.That(t, seen >= 100_000, "the observer was told of %d instructions only", seen)
}

// directory runs an experiment of the program and returns the files of its results.
func directory(t *testing.T, name string, procs, workers int, m running.Measure) map[string][]byte {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	p := require.Must(planning.NewLoader().Plan(name, nil))(t)
	r := &running.Runner{Measure: m, Workers: workers}
	report := reports.Collect(p).Report(r.Run(p))
	f := require.Must(report.Files())(t)
	return f
}
