package pc

import (
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// newTestIOAPIC is an I/O APIC that keeps the vectors it sends.
func newTestIOAPIC() (p *ioapic, sent *[]uint8) {
	sent = new([]uint8)
	return newIOAPIC(4, func(e entry) { *sent = append(*sent, e.vector()) }), sent
}

// write writes a register behind the window.
func (p *ioapic) write(n uint8, v uint32) {
	p.store(ioSelect, uint32(n))
	p.store(ioWindow, v)
}

func (p *ioapic) read(n uint8) uint32 {
	p.store(ioSelect, uint32(n))
	return p.load(ioWindow)
}

func TestIOAPICRegisters(t *testing.T) {
	p, _ := newTestIOAPIC()
	for n, want := range map[uint8]uint32{ioID: 4 << 24, ioVersion: 0x170011, ioArb: 4 << 24, ioTable: entryMasked, ioTable + 1: 0, 0x0f: 0, 0x40: 0, 0xff: 0} {
		require.Equal(t, p.read(n), want, "register %#x after reset", n)
	}
	p.write(ioID, 0xffffffff)
	p.write(ioTable+6, 0xffffffff)
	p.write(ioTable+7, 0xffffffff)
	p.write(0xff, 1)
	if p.read(ioID) != 0x0f000000 || p.read(ioTable+6) != 0x1afff || p.read(ioTable+7) != 0xff000000 {
		t.Errorf("all ones: identifier %#x, entry %#x %#x", p.read(ioID), p.read(ioTable+7), p.read(ioTable+6))
	}
	require.That(t, p.load(4) == 0, "what is between the registers is not zero")
}

// TestIOAPICEdge holds that an edge is sent once, and that one which comes while the input is masked is lost.
func TestIOAPICEdge(t *testing.T) {
	p, sent := newTestIOAPIC()
	p.set(3, true)
	p.write(ioTable+6, 0x31)
	p.set(3, true)
	p.set(3, false)
	require.That(t, len(*sent) == 0, "sent %v without an edge", *sent)
	p.set(3, true)
	p.set(3, true)
	p.set(3, false)
	p.set(3, true)
	p.write(ioTable+6, 0x32|entryLow)
	p.set(3, false)
	require.That(t, slices.Equal(*sent, []uint8{0x31, 0x31, 0x32}), "sent %#x", *sent)
}

// TestIOAPICLevel holds that an input by level is sent again while it is active, but not before the last one has ended.
func TestIOAPICLevel(t *testing.T) {
	p, sent := newTestIOAPIC()
	p.set(9, true)
	p.write(ioTable+18, 0x41|entryLevel)
	p.set(9, true)
	if len(*sent) != 1 || p.read(ioTable+18)&entryRemote == 0 {
		t.Fatalf("sent %#x, entry %#x", *sent, p.read(ioTable+18))
	}
	p.ended(0x40)
	p.ended(0x41)
	p.set(9, false)
	p.ended(0x41)
	if len(*sent) != 2 || p.read(ioTable+18)&entryRemote != 0 {
		t.Errorf("sent %#x, entry %#x", *sent, p.read(ioTable+18))
	}
	p.set(9, true)
	p.write(ioTable+18, 0x41) // an edge now: the level that did not end is forgotten
	if len(*sent) != 3 || p.read(ioTable+18)&entryRemote != 0 {
		t.Errorf("sent %#x, entry %#x", *sent, p.read(ioTable+18))
	}
}

// TestLevelEnds holds that a local APIC tells of the end of an interrupt by level, and of no other.
func TestLevelEnds(t *testing.T) {
	var ended []uint8
	l := newLAPIC(lapicConfig{BusCycle: busCycle, Ended: func(v uint8) { ended = append(ended, v) }})
	l.Store(regSVR, svrEnable|0xff)
	for _, v := range []uint8{0x51, 0x62} {
		l.accept(message{Vector: v, Level: v == 0x51})
		l.Acknowledge()
	}
	l.Store(regEOI, 0)
	l.Store(regEOI, 0)
	l.Store(regEOI, 0)
	if !slices.Equal(ended, []uint8{0x51}) || l.Load(regTMR+0x20) != 1<<(0x51-0x40) {
		t.Errorf("ended %#x, trigger mode %#x", ended, l.Load(regTMR+0x20))
	}
}
