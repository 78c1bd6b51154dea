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

// TestValuesOfKeys reads a point by each key that records have a column for, and by one that is swept.
func TestValuesOfKeys(t *testing.T) {
	p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 12, Seed: 1<<64 - 1, Probe: "k/load=busy"}
	for key, want := range map[string]string{
		"probe": "k", "experiment": "e", "machine": "m", "isa": "i", "kernel.isa": "i", "era": "2010", "kernel.era": "2010",
		"cpus": "12", "kernel.cpus": "12", "seed": "18446744073709551615", "load": "busy", "none": "",
	} {
		require.Equal(t, p.Value(key), want, "%s", key)
	}
	require.Equal(t, p.WithNumber("n").Value(NumberKey), "n", "a point with a number")
}

// TestAxes adds a column once, with the values of both, and none for what records have anyway.
func TestAxes(t *testing.T) {
	var s Set
	for _, a := range []Axis{{"k", "B", map[string]string{"1 KiB": "1024"}}, {"seed", "", nil}, {"k", "B", map[string]string{"1 MiB": "1048576"}}, {"plain", "", nil}} {
		s.AddAxis(a)
	}
	require.Need(t, len(s.Axes) == 2 && len(s.Axes[0].Cells) == 2, "axes are %+v", s.Axes)
	for i, want := range []string{"k (B)", "plain"} {
		back := ParseAxis(s.Axes[i].Head())
		require.That(t, s.Axes[i].Head() == want && back.Key == s.Axes[i].Key && back.Unit == s.Axes[i].Unit, "%q is read as %+v", s.Axes[i].Head(), back)
	}
}
