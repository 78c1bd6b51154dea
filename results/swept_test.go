package results

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

func TestSweptNames(t *testing.T) {
	p := Point{Probe: `r/machine.cost.alu.issue=1/4/kernel.cpus=16`}
	if p.Name() != "r" || p.Swept("machine.cost.alu.issue") != "1/4" || p.Swept("kernel.cpus") != "16" || p.Swept("x") != "" {
		t.Errorf("%q, %q, %q", p.Name(), p.Swept("machine.cost.alu.issue"), p.Swept("kernel.cpus"))
	}
	require.Equal(t, p.Without("machine.cost.alu.issue"), "r/kernel.cpus=16", "without a key")
	p.Probe = "a=b/c=1"
	require.That(t, p.Name() == "a=b" && len(p.Settings()) == 1, "a name that looks like a parameter: %v", p.Settings())
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

// TestNumeric holds which columns have numbers alone. A point that does not sweep the key does not count.
func TestNumeric(t *testing.T) {
	var s Set
	for _, name := range []string{"k/memory=1 KiB/cpus=2/load=3", "k/memory=7/cpus=x", "plain"} {
		require.NoError(t, s.Add(record(name, MetricCycles, "1")))
	}
	for want, axes := range map[bool][]Axis{
		true:  {{Key: "memory", Cells: map[string]string{"1 KiB": "1024"}}, {Key: "load"}, {Key: "none"}},
		false: {{Key: "memory"}, {Key: "cpus"}},
	} {
		for _, a := range axes {
			require.Equal(t, s.Numeric(a), want, "%+v", a)
		}
	}
}

// TestCallMetrics holds the names of the percentiles that experiments keep.
func TestCallMetrics(t *testing.T) {
	var names []string
	for _, share := range CallShares() {
		names = append(names, strings.TrimPrefix(CallMetric(share), "cycles_call_p"))
	}
	require.Equal(t, strings.Join(names, " "), "0 0.5 1 2 5 10 15 20 25 30 35 40 45 50 55 60 65 70 75 80 85 90 95 98 99 99.5 99.9 100", "percentiles")
}
