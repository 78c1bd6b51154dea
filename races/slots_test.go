package races

import (
	"testing"

	"kprobesim/internal/require"
)

func TestSlots(t *testing.T) {
	p := &slotPool{name: "slot"}
	syncs := []uint64{0, 0}
	now := func() []uint64 { return syncs }
	take := func(addr uint64) { p.taken(addr, store{cpu: 0, syncs: []uint64{syncs[0], syncs[1]}}) }
	v := make([]visit, 2)
	check := func(what string, cpu int, pc uint64, want Kind) {
		t.Helper()
		if k, why := p.check(cpu, pc, &v[cpu], now); k != want {
			t.Errorf("%s: %q (%s), want %q", what, k, why, want)
		}
	}
	check("never taken", 0, 0x9000, Stale)
	take(0x9010)
	take(0x9000)
	check("at its start", 0, 0x9000, "")
	check("further on", 0, 0x9004, "")
	check("the next one", 0, 0x9012, "")
	check("by a CPU that has not synchronized since", 1, 0x9000, Unsynced)
	syncs[1]++
	check("by one that has", 1, 0x9000, "")
	p.freed(0x9010)
	check("freed", 0, 0x9013, Stale)
	take(0x9010)
	check("freed and taken again, by a task that was in it", 0, 0x9014, Stale)
	check("entered anew", 0, 0x9010, "")
	check("and gone on", 0, 0x9014, "")
	require.That(t, !p.live(0x9004) && p.live(0x9010), "live slots are those that start at the address")
}
