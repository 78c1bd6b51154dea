package experiments_test

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments"
	"kprobesim/experiments/planning"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/machines"
)

// The E5410 in 32-bit mode is the same silicon: it has every number of the description of 64-bit mode
// but the few that the mode changes.
func TestTheModesOfAMachineShareNumbers(t *testing.T) {
	params := func(name string) map[string]machines.Param {
		m := require.Must(planning.NewLoader().Machine(name, "", nil))(t)
		all := map[string]machines.Param{}
		for _, p := range m.Params {
			all[p.Path] = p
		}
		return all
	}
	wide, narrow := params("xeon-e5410"), params("xeon-e5410-i386")
	changed := map[string]bool{
		"event.exception_breakpoint.cycles": true, "event.exception_debug.cycles": true,
	}
	require.That(t, len(wide) >= 200 && len(narrow) <= len(wide)+1, "%d and %d numbers", len(wide), len(narrow))
	for path, p := range wide {
		if same := narrow[path].Value == p.Value; same == changed[path] {
			t.Errorf("%s is %s in one mode and %s in the other", path, p.Value, narrow[path].Value)
		}
	}
	if n := len(narrow["event.exception_breakpoint.cycles"].Fitted); n != 1 {
		t.Errorf("the delivery of exceptions in 32-bit mode is fitted on %d figures, want one", n)
	}
	// What the debug exception takes more is that of 64-bit mode: it is written down there as two numbers.
	number := func(p machines.Param) int64 {
		v := require.Must(clock.Parse(p.Value))(t)
		return v.Cycles()
	}
	more := number(narrow["event.exception_debug.more"])
	if want := number(wide["event.exception_debug.cycles"]) - number(wide["event.exception_breakpoint.cycles"]); more != want {
		t.Errorf("more of exception_debug in xeon-e5410-i386.toml is %d, but in xeon-e5410.toml it is %d: write that there, and calibrate again", more, want)
	}
}

func TestEveryNumberHasASource(t *testing.T) {
	for _, name := range experiments.Machines() {
		m, err := planning.NewLoader().Machine(name, "", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		require.That(t, len(m.FittedParams()) <= 2, "%s: more than two fitted parameters", name)
		for _, p := range m.Params {
			require.That(t, p.Source != "" && p.Value != "", "%s: %s has no value or no source", p.Pos, p.Path)
		}
	}
}

// TestOptionalShapes finds in a description what most leave out: dispatch groups, further results, levels of
// caches and TLBs.
func TestOptionalShapes(t *testing.T) {
	power, xeon := loopMachine(t, "power5-1656").CPU, loopMachine(t, "xeon-e5410").CPU
	require.That(t, power.Groups == (cpus.Groups{On: true, BranchSlots: 1}) && !xeon.Groups.On, "groups: %+v and %+v", power.Groups, xeon.Groups)
	require.That(t, power.TLB2.Entries == 2048 && power.TLB2.Latency == 14*clock.PerCycle && xeon.TLB2 == (cpus.TLB2{}), "tlb.second: %+v and %+v", power.TLB2, xeon.TLB2)
	require.That(t, power.L3.Size == 36<<20 && xeon.L3.Size == 0 && power.L1D.WriteAround && !xeon.L1D.WriteAround, "cache.l3 of %d and %d bytes; write_around: %t and %t", power.L3.Size, xeon.L3.Size, power.L1D.WriteAround, xeon.L1D.WriteAround)
	require.That(t, power.Predictor.TargetsByAddress && !xeon.Predictor.TargetsByAddress, "targets_by_address")
	if k := power.Classes["record"]; k.Latency2 != 4*clock.PerCycle || k.Alone || !power.Classes["mfcr"].Alone {
		t.Errorf("latency2 and alone: %+v", k)
	}
}
