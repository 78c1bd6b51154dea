package results

import (
	"slices"
	"testing"

	"kprobesim/internal/require"
)

func TestSweptNames(t *testing.T) {
	p := Point{Probe: `r/machine.cost.alu.issue=1/4/kernel.cpus=16`}
	if p.Name() != "r" || p.Swept("machine.cost.alu.issue") != "1/4" || p.Swept("kernel.cpus") != "16" || p.Swept("x") != "" {
		t.Errorf("%q, %q, %q", p.Name(), p.Swept("machine.cost.alu.issue"), p.Swept("kernel.cpus"))
	}
	require.Equal(t, p.Without("machine.cost.alu.issue"), "r/kernel.cpus=16", "without a key")
	var set Set
	for _, name := range []string{"k/cpus=1/load=idle", "k/cpus=1/load=busy"} {
		require.NoError(t, set.Add(record(name, MetricCycles, "1")))
	}
	keys := SweptKeys(&set)
	require.That(t, slices.Equal(keys, []string{"cpus", "load"}), "swept are %v", keys)
}

// TestDiffer tells points apart by what is asked of them.
func TestDiffer(t *testing.T) {
	a, b := Point{Probe: "a", CPUs: 1}, Point{Probe: "b", CPUs: 1}
	name, cpus := func(p Point) string { return p.Probe }, func(p Point) string { return string(rune(p.CPUs)) }
	require.That(t, Differ([]Point{a, b}, name) && !Differ([]Point{a, b}, cpus) && !Differ([]Point{a}, name) && !Differ(nil, name), "points differ by what is the same")
}
