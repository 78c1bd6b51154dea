package vexpress

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus/arm"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// life is a step in the life of interrupts: what is done to CPU 0's registers, and which interrupt its line is up
// for behind it.
type life struct {
	off, v uint64 // a store, or what a load of GICC_IAR finds
	line   int
}

// acknowledged as an offset says that GICC_IAR is loaded.
const acknowledged = 0

func run(t *testing.T, p *port, steps []life) {
	t.Helper()
	for i, s := range steps {
		switch {
		case s.off == acknowledged:
			require.Equal(t, p.Load(interfaceBase+0x0c, 4), s.v, "%d: acknowledged", i)
		default:
			p.Store(s.off, 4, s.v)
		}
		require.Equal(t, p.b.gic.signalled(p.cpu), s.line, "%d: the line is up for", i)
	}
}

const (
	ctlr    = interfaceBase
	pmr     = interfaceBase + 4
	bpr     = interfaceBase + 8
	eoir    = interfaceBase + 0x10
	dir     = interfaceBase + 0x1000
	enable  = distributorBase + 0x100
	disable = distributorBase + 0x180
	pend    = distributorBase + 0x200
	unpend  = distributorBase + 0x280
	forget  = distributorBase + 0x380
	config  = distributorBase + 0xc00
	self    = distributorBase + 0xf00
)

// ready has a controller of one CPU whose interrupts 40 to 42 have the priorities 0x40, 0x48, 0x80.
func ready(t *testing.T) *port {
	p := newHardware(t, 1).ports[0]
	p.Store(distributorBase, 4, 1)
	p.Store(ctlr, 4, 1)
	p.Store(pmr, 4, 0xf0)
	p.Store(enable+4, 4, 7<<8)
	p.Store(distributorBase+0x428, 4, 0x00804840)
	return p
}

// TestSplitEnd holds GICC_CTLR.EOImode: the priority drops at the end, and the interrupt stays active until it is
// deactivated.
func TestSplitEnd(t *testing.T) {
	run(t, ready(t), []life{
		{ctlr, 1 | 1<<9, spurious},
		{pend + 4, 1 << 9, 41},
		{acknowledged, 41, spurious},
		{pend + 4, 1<<9 | 1<<10, spurious},
		{eoir, 41, 42},
		{dir, 41, 41},
		{dir, 41, 41}, // again: nothing
		{ctlr, 1, 41},
		{acknowledged, 41, spurious},
		{dir, 41, spurious}, // the modes are not mixed
		{eoir, 41, 42},
	})
}

// TestTimerExpires has the timer's output go up early, until it is set anew. One that is off stays down.
func TestTimerExpires(t *testing.T) {
	p := ready(t)
	p.Store(enable, 4, 1<<physicalTimer)
	p.b.Expire(0)
	require.Equal(t, p.b.gic.signalled(0), spurious, "the line is up for a timer that is off")
	for range 2 {
		p.TimerOutput(arm.PhysicalTimer, clock.FromCycles(1_000_000))
		require.Equal(t, p.b.gic.signalled(0), spurious, "the line is up before its time")
		p.b.Expire(0)
		run(t, p, []life{{acknowledged, physicalTimer, spurious}})
		p.TimerOutput(arm.PhysicalTimer, clock.FromCycles(2_000_000))
		run(t, p, []life{{eoir, physicalTimer, spurious}})
	}
	require.Equal(t, p.b.m.Events().Len(), 1, "planned expiries")
}

// TestLevelAndEdge holds what an input does that goes up, stays and goes down.
func TestLevelAndEdge(t *testing.T) {
	for _, x := range []struct {
		edge                        uint64
		again, behindEnd, behindLow int
	}{
		{0, 40, 40, spurious},
		{2 << 16, spurious, spurious, spurious},
	} {
		p := ready(t)
		p.Store(config+8, 4, x.edge)
		b := p.b.gic.bank(0, 1)
		b.input(8, true)
		run(t, p, []life{
			{eoir, spurious, 40},
			{unpend + 4, 1 << 8, x.again}, // the level stays
			{pend + 4, 1 << 8, 40},
			{acknowledged, 40, spurious},
			{eoir, 40, x.behindEnd},
		})
		b.input(8, false)
		run(t, p, []life{{eoir, spurious, x.behindLow}})
		b.input(8, true)
		b.input(8, false)
		require.Equal(t, p.b.gic.signalled(0) == 40, (x.edge != 0), "edge %#x: a short pulse is seen", x.edge)
	}
}

// TestSenders holds that a software generated interrupt comes once for each sender, and that all interrupts of a
// CPU's own have registers of its own.
func TestSenders(t *testing.T) {
	b := newHardware(t, 4)
	for _, p := range b.ports {
		p.Store(ctlr, 4, 1)
		p.Store(pmr, 4, 0xf0)
	}
	p := b.ports[2]
	p.Store(distributorBase, 4, 1)
	p.Store(enable, 4, 1<<27)
	got := b.ports[1].Load(enable, 4)
	require.That(t, got == 0xffff, "CPU 1 has %#x enabled", got)
	require.Equal(t, p.Load(distributorBase+0x800, 4), 0x04040404, "targets of CPU 2's own interrupts")
	p.accept(5, 3)
	p.accept(5, 0)
	p.accept(5, 0) // no second one
	if got := p.Load(distributorBase+0xf24, 4); got != 9<<8 {
		t.Errorf("senders %#x, want 0 and 3", got)
	}
	run(t, p, []life{
		{self, 2<<24 | 7, 5},
		{acknowledged, 5, spurious},
		{eoir, 5, 5},
		{acknowledged, 5 | 3<<10, spurious},
		{eoir, 5 | 3<<10, 7},
		{unpend, 1 << 7, 7},
		{distributorBase + 0xf14, 1 << 25, 7}, // sent by another
		{acknowledged, 7 | 2<<10, spurious},
		{forget, 1 << 7, spurious},
		{eoir, 7, spurious}, // no longer active: the priority stays
		{interfaceBase + 0xd0, 0, spurious},
		{self, 2<<24 | 3, 3},
	})
	require.Equal(t, b.ports[1].b.gic.signalled(1), spurious, "CPU 1 is interrupted by")
}

// FuzzRegisters accesses devices in any way: nothing panics, registers that are read have no bits that do not exist,
// and what is acknowledged and ended again leaves no priority behind.
func FuzzRegisters(f *testing.F) {
	f.Add([]byte{0x00, 4, 0x10, 0, 1, 0, 0, 0, 0x91, 4, 0x00, 0xf, 3, 0, 0, 2})
	f.Add([]byte{0x03, 1, 0x23, 0xf, 0xff, 0xff, 0xff, 0xff})
	b := newHardware(f, 4)
	f.Fuzz(func(t *testing.T, ops []byte) {
		b.gic, b.uart, b.flags = newGIC(4), bootUART, 0
		bases := []uint64{distributorBase, interfaceBase, consoleBase, systemBase, interfaceBase + page, 0xffff0000}
		for ; len(ops) >= 8; ops = ops[8:] {
			p := b.ports[ops[0]&3]
			at := bases[int(ops[0]>>2)%len(bases)] + uint64(binary.LittleEndian.Uint16(ops[2:]))
			size := int(ops[1] & 15)
			if ops[1]&0x80 == 0 {
				p.Store(at, size, uint64(binary.LittleEndian.Uint32(ops[4:]))*0x100000001)
			}
			if v := p.Load(at, size); v > 1<<32-1 && at < 0xffff0000 && at>>16 == distributorBase>>16 && at&0xffff < 0x4000 && at&0xffff >= 0x1000 {
				t.Errorf("%d bytes at %#x: %#x", size, at, v)
			}
		}
		for i, p := range b.ports {
			p.Store(interfaceBase+0xd0, 4, 0)
			for range 200 {
				v := p.Load(interfaceBase+0x0c, 4)
				if v == spurious {
					break
				}
				p.Store(eoir, 4, v)
				p.Store(dir, 4, v)
			}
			require.Equal(t, p.own().apr, 0, "cpu %d works at priorities behind the end of all", i)
			_ = b.Waiting(i)
		}
	})
}
