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
	run := func(workers int, m running.Measure) *reports.Report {
		p := require.Must(planning.NewLoader().Plan(name, nil))(t)
		return reports.Collect(p).Report((&running.Runner{Measure: m, Workers: workers}).Run(p))
	}
	plain := filesOf(t, func(workers int) *reports.Report { return run(workers, kinds.Measure) })
	holdFiles(t, "observed", plain, run(1, func(p *schema.Point) (*kinds.Measurement, error) {
		return kinds.Observed(p, func(*sim.Machine) cpus.Observer { return &seen })
	}))
	require.That(t, seen >= 100_000, "the observer was told of %d instructions only", seen)
}

// filesOf returns the results directory of a run, which is the same on one processor with one worker and on two with several.
func filesOf(t *testing.T, run func(workers int) *reports.Report) map[string][]byte {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := run(1)
	require.NoError(t, one.Err())
	want := require.Must(one.Files())(t)
	runtime.GOMAXPROCS(2)
	holdFiles(t, "five workers", want, run(5))
	return want
}

func holdFiles(t *testing.T, how string, want map[string][]byte, r *reports.Report) {
	t.Helper()
	require.NoError(t, r.Err())
	got := require.Must(r.Files())(t)
	require.That(t, slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))), "%s: other files", how)
	for name := range want {
		require.That(t, bytes.Equal(got[name], want[name]), "%s: %s differs", how, name)
	}
}
