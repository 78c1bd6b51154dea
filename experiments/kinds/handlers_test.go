package kinds_test

import (
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
)

const handlers = "handlers-xeon-e5410-x86_64"

// handlerCycles measures a point of the experiment, and returns the cycles of all its hits and the notes.
func handlerCycles(t *testing.T, point string, sets ...string) (int64, string) {
	t.Helper()
	pt := exptest.PointOf(t, handlers, point, append(sets, "workload.hits=20")...)
	m, err := kinds.Measure(pt)
	if err != nil {
		t.Fatalf("%s: %v", point, err)
	}
	return int64(m.Probed.Sub(m.Base).Time), strings.Join(m.Notes, "\n")
}

// TestHandlersCost orders probes by the handlers they have: each one that is called adds to the hit.
func TestHandlersCost(t *testing.T) {
	exptest.Alone(t)
	cost := map[string]int64{}
	for _, point := range []string{"k", "post", "k-post", "k-fault", "k-disabled", "faulting", "faulting-fault", "r", "r-entry", "r-data", "b", "b-post"} {
		cost[point], _ = handlerCycles(t, point)
	}
	for _, c := range [][2]string{
		{"b", "b-post"},
		{"post", "k-post"},
		{"k", "k-post"},
		{"k", "k-disabled"},
		{"k", "faulting"},
		{"faulting", "faulting-fault"},
		{"r", "r-entry"},
		{"r-entry", "r-data"},
	} {
		if cost[c[0]] >= cost[c[1]] {
			t.Errorf("%s takes %d ticks, %s takes %d: want more", c[0], cost[c[0]], c[1], cost[c[1]])
		}
	}
	if cost["k"] != cost["k-fault"] {
		t.Errorf("a fault handler that is not called costs %d ticks", cost["k-fault"]-cost["k"])
	}
}

// TestPostHandlerForbids: a probe with a post handler is measured in the mode that it reaches, which is said. Without
// one, a mode that is not reached is an error.
func TestPostHandlerForbids(t *testing.T) {
	exptest.Alone(t)
	for point, asked := range map[string]string{"b-post": "boosted", "o-post": "optimized"} {
		if _, notes := handlerCycles(t, point); !strings.Contains(notes, "asked for "+asked+", reached stepped") {
			t.Errorf("%s: notes %q", point, notes)
		}
	}
	if _, notes := handlerCycles(t, "k-post"); notes != "" {
		t.Errorf("k-post: notes %q", notes)
	}
	if _, err := kinds.Measure(exptest.PointOf(t, handlers, "o", "workload.target=work_switch", "workload.hits=2")); err == nil {
		t.Error("a probe that cannot be optimized was measured")
	}
}

// TestFaultsAreNoMisses: a handler that faults counts as missed in the kernel, which is said and no mistake.
func TestFaultsAreNoMisses(t *testing.T) {
	exptest.Alone(t)
	if _, notes := handlerCycles(t, "faulting"); !strings.Contains(notes, "counts as a missed hit") {
		t.Errorf("notes %q", notes)
	}
}

// TestDisabledPoint: a probe that was registered disabled is not hit.
func TestDisabledPoint(t *testing.T) {
	exptest.Alone(t)
	disabled, _ := handlerCycles(t, "k", `points.k.flags=["disabled"]`)
	optimized, _ := handlerCycles(t, "o")
	if 10*disabled > optimized {
		t.Errorf("hits of a disabled probe take %d ticks, of an optimized one %d", disabled, optimized)
	}
}
