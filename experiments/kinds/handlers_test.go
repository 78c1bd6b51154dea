package kinds_test

import (
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
)

const handlers = "handlers-xeon-e5410-x86_64"

// handlerCost measures a point of the experiment, and returns what its hits add and the notes.
func handlerCost(t *testing.T, point string, sets ...string) (kinds.Sample, string) {
	t.Helper()
	pt := exptest.PointOf(t, handlers, point, append(sets, "workload.hits=20")...)
	m, err := kinds.Measure(pt)
	require.Need(t, err == nil, "%s: %v", point, err)
	return m.Probed.Sub(m.Base), strings.Join(m.Notes, "\n")
}

// TestHandlersCost orders probes by the handlers they have: each one that is called adds instructions to the hit.
func TestHandlersCost(t *testing.T) {
	exptest.Alone(t)
	cost := map[string]kinds.Sample{}
	for _, point := range []string{"k", "post", "k-post", "k-fault", "k-disabled", "faulting", "faulting-fault", "r", "r-entry", "r-data", "b", "b-post"} {
		cost[point], _ = handlerCost(t, point)
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
		if less, more := cost[c[0]].Instructions, cost[c[1]].Instructions; less >= more {
			t.Errorf("hits of %s execute %d instructions, of %s %d: want more", c[0], less, c[1], more)
		}
	}
	if d := cost["k-fault"].Sub(cost["k"]); d.Instructions != 0 || d.Time != 0 {
		t.Errorf("a fault handler that is not called costs %d instructions and %d ticks", d.Instructions, d.Time)
	}
}

// TestPostHandlerForbids: a probe with a post handler is measured in the mode that it reaches, which is said. Without
// one, a mode that is not reached is an error.
func TestPostHandlerForbids(t *testing.T) {
	exptest.Alone(t)
	for point, asked := range map[string]string{"b-post": "boosted", "o-post": "optimized"} {
		_, notes := handlerCost(t, point)
		require.That(t, strings.Contains(notes, "asked for "+asked+", reached stepped"), "%s: notes %q", point, notes)
	}
	if _, notes := handlerCost(t, "k-post"); notes != "" {
		t.Errorf("k-post: notes %q", notes)
	}
	pt := exptest.PointOf(t, handlers, "o", "workload.target=work_switch", "workload.hits=2")
	require.That(t, require.Err(kinds.Measure(pt)) != nil, "a probe that cannot be optimized was measured")
	const power = "isa=ppc64"
	if _, notes := handlerCost(t, "o-post", power, "machine=power5-1656"); !strings.Contains(notes, "asked for optimized, reached emulated") {
		t.Errorf("o-post where kernels emulate: notes %q", notes)
	}
	_, err := kinds.Measure(exptest.PointOf(t, handlers, "b", power, "machine=power5-1656", "kernel.image=ppc64-2010", `kernel.era="2010"`))
	require.Error(t, err, "is stepped, not emulated: the kernel's emulator does not do the instruction there", "an instruction that is not emulated")
}

// TestFaultsAreNoMisses: a handler that faults counts as missed in the kernel (nmissed), though it has run.
func TestFaultsAreNoMisses(t *testing.T) {
	exptest.Alone(t)
	if cost, _ := handlerCost(t, "faulting"); cost.Counts != (kinds.Counts{Calls: 20, Hits: 20}) {
		t.Errorf("counted are %+v", cost.Counts)
	}
}

// TestDisabledPoint: a probe that was registered disabled is not hit.
func TestDisabledPoint(t *testing.T) {
	exptest.Alone(t)
	disabled, _ := handlerCost(t, "k", `points.k.flags=["disabled"]`)
	optimized, _ := handlerCost(t, "o")
	require.That(t, disabled.Counts == (kinds.Counts{Calls: 20}) && optimized.Hits == 20, "counted are %+v, and of an optimized one %+v", disabled.Counts, optimized.Counts)
	if disabled.Instructions != 0 || 10*disabled.Time > optimized.Time {
		t.Errorf("hits of a disabled probe: %d instructions, %d ticks; of an optimized one %d ticks", disabled.Instructions, disabled.Time,
			optimized.Time)
	}
}
