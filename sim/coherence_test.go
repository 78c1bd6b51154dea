package sim_test

import (
	"slices"
	"testing"

	"kprobesim/boards/pc/pctest"
	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// counters runs a loop of additions on all CPUs and returns cycles a round, as CPU 1 has them.
func counting(t *testing.T, n int, main, other string) (cycles float64, c *cpus.Counters) {
	t.Helper()
	const rounds = 2000
	w := pctest.New(t, n, main, other)
	w.Set(t, "arg2", rounds)
	w.MustRun(t)
	if want := uint64(n * rounds); main != "boot_own" && !slices.Equal(w.Reports, []uint64{want}) {
		t.Errorf("%s on %d CPUs counted to %d, want %d: an instruction is not interrupted by others", main, n, w.Reports, want)
	}
	c = w.CPU(1).Counters()
	return float64(w.CPU(1).Now().Cycles()) / rounds, c
}

// TestSharedCounterCosts compares counters that all CPUs write with one for each CPU.
func TestSharedCounterCosts(t *testing.T) {
	own, oc := counting(t, 4, "boot_own", "count_own")
	plain, pc := counting(t, 4, "boot_plain", "count_plain")
	locked, lc := counting(t, 4, "boot_locked", "count_locked")
	t.Logf("cycles a round: own %.1f, shared %.1f, shared and locked %.1f", own, plain, locked)
	require.That(t, !(plain < 20*own) && !(locked < 20*own), "a shared counter takes %.1f cycles, locked %.1f, its own %.1f", plain, locked, own)
	each := float64(pctest.Transfer.Cycles())
	require.That(t, !(locked < 3*each) && !(locked > 5*each), "a locked addition takes %.1f cycles: all four CPUs wait for the line, which moves in %.0f", locked, each)
	require.That(t, oc.Transfers <= 100 && oc.Upgrades <= 100, "%d transfers and %d upgrades for counters of their own", oc.Transfers, oc.Upgrades)
	require.That(t, pc.Transfers >= 20 && pc.Upgrades >= 20, "%d transfers and %d upgrades for a shared counter", pc.Transfers, pc.Upgrades)
	require.That(t, lc.Upgrades <= lc.Transfers/4, "%d transfers and %d upgrades for locked additions, which take the line at once", lc.Transfers, lc.Upgrades)
}

// TestParkedNeighboursCostNothing holds that a CPU which is alone takes the same time whether others
// could be started or not.
func TestParkedNeighboursCostNothing(t *testing.T) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		var got []cpus.Counters
		for _, n := range []int{1, 2, 256} {
			w := pctest.New(t, n, "count_plain", "ready", func(c *sim.Config) { c.CPU.Model = model })
			w.Set(t, "arg", 0)
			w.Set(t, "arg2", 5000)
			w.MustRun(t)
			c := *w.CPU(0).Counters()
			got = append(got, c)
			require.That(t, c == got[0], "%s: with %d CPUs %+v, alone %+v", model, n, c, got[0])
		}
	}
}

// TestCodeOfOthers rewrites an instruction in the middle of a block that another CPU runs in a loop.
// Each value must arrive, in turns by time and in turns of one instruction.
func TestCodeOfOthers(t *testing.T) {
	for _, p := range []sim.Policy{nil, &inTurn{steps: 1}, &inTurn{steps: 3}, &dice{state: 5}} {
		w := pctest.New(t, 2, "boot_patch", "run_patched", func(c *sim.Config) { c.Policy = p })
		w.Set(t, "arg2", 200)
		w.MustRun(t)
		require.That(t, slices.Equal(w.Reports, []uint64{199}), "%T: reported %d", p, w.Reports)
		c := w.CPU(1).Counters()
		require.That(t, c.L1IMisses >= 199 && c.Transfers >= 199, "%T: cpu 1 fetched its line %d times, %d from another", p, c.L1IMisses, c.Transfers)
	}
}
