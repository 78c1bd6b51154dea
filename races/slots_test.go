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

// TestCodeMap gives each address the class of the last range that it lies in, beside the text, too.
func TestCodeMap(t *testing.T) {
	m := newCodeMap(span{0x100, 0x110})
	for i, s := range []span{{0x100, 0x108}, {0x104, 0x110}, {0x110, 0x118}, {0x114, 0x120}, {0x80, 0x100}} {
		m.mark(class(100+i), s)
	}
	m.mark(slotCode, span{0x200, 0x210})
	m.mark(detourCode, span{0x210, 0x220})
	for pc, want := range map[uint64]class{
		0x100: 100, 0x103: 100, 0x104: 101, 0x10f: 101, 0x110: 102, 0x113: 102, 0x114: 103, 0x11f: 103, 0x120: plainCode, 0x80: 104, 0xff: 104, 0x7f: plainCode,
		0x200: slotCode, 0x20f: slotCode, 0x210: detourCode, 0x21f: detourCode, 0x220: plainCode,
	} {
		require.Equal(t, m.at(pc), want, "the class of %#x", pc)
	}
}
