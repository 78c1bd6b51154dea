package explaining

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/workloads"
)

// TestWaysOfTheScheduler registers probes where the kernel itself passes while it waits: at every instruction of schedule
// and context_switch. Among them are pairs of reserving loads and conditional stores, and calls behind which the task goes
// on after a switch.
func TestWaysOfTheScheduler(t *testing.T) {
	pairs, jumps := map[string]int{}, map[string]int{}
	for _, im := range workloads.List() {
		k := require.Must(Open(im.Name, ""))(t)
		var sites []uint64
		for _, fn := range k.functions {
			if fn.Name == "schedule" || fn.Name == "context_switch" {
				sites = append(sites, k.starts(fn)...)
			}
		}
		require.That(t, len(sites) >= 40, "%s: schedule and context_switch have %d instructions", im.Name, len(sites))
		compare(t, k, im.Name, sites, func(v Verdict, a Answer) {
			require.That(t, a.Pending == (v.Retried && v.Optimized), "%s: %s: the kernel has %+v, the rules say %+v", im.Name, v.Place, a, v)
			if v.Retried {
				pairs[im.ISA]++
			}
			if v.Mode() == kprobes.Optimized {
				jumps[im.ISA]++
			}
		})
	}
	require.That(t, pairs["arm"] != 0 && pairs["ppc64"] != 0 && len(pairs) == 2 && len(jumps) == 4, "places in pairs: %v; optimized places: %v", pairs, jumps)
}

// compare asks a kernel for a probe at each place, wants what the rules say, and goes on with both.
func compare(t *testing.T, k *Kernel, name string, sites []uint64, then func(v Verdict, a Answer)) {
	t.Helper()
	answers, err := k.Verify(sites)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for i, at := range sites {
		v := require.Must(k.At(at))(t)
		require.That(t, answers[i].Agrees(&v), "%s: %s (%s): the kernel has %v, the rules say %+v", name, v.Place, v.Instruction, answers[i], v)
		then(v, answers[i])
	}
}
