package experiments

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"testing"

	"kprobesim/cpus"
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
	for _, name := range []string{e5410, "overhead-published"} {
		t.Run(name, func(t *testing.T) { sameEverywhere(t, name) })
	}
}

func sameEverywhere(t *testing.T, name string) {
	var seen steps
	watched := func(p *Point) (*Measurement, error) {
		return observed(p, func(*sim.Machine) cpus.Observer { return &seen })
	}
	var sets []string
	if testing.Short() {
		sets = []string{"workload.hits=50"}
	}
	var want map[string][]byte
	for _, c := range []struct {
		name           string
		procs, workers int
		measure        Measure
	}{
		{"one processor", 1, 1, MeasurePoint},
		{"two processors", 2, 2, MeasurePoint},
		{"once more", 2, 5, MeasurePoint},
		{"observed", 1, 1, watched},
	} {
		got := directory(t, name, sets, c.procs, c.workers, c.measure)
		if want == nil {
			want = got
		}
		if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
			t.Errorf("%s: other files", c.name)
		}
		for name := range want {
			if !bytes.Equal(got[name], want[name]) {
				t.Errorf("%s: %s differs", c.name, name)
			}
		}
	}
	if seen < 100_000 {
		t.Errorf("the observer was told of %d instructions only", seen)
	}
}

// directory runs an experiment of the program and returns the files of its results.
func directory(t *testing.T, name string, sets []string, procs, workers int, m Measure) map[string][]byte {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	p, err := NewLoader().Plan(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Measure: m, Workers: workers}
	report := NewReport(p, r.Run(p))
	f, err := report.Files()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
