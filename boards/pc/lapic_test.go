package pc

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// apicBoard is a few APICs on one bus with one clock.
type apicBoard struct {
	now     clock.Ticks
	queue   sim.Queue
	apics   []*lapic
	raised  []int
	signals []string
}

// busCycle is 7 core cycles, as on a 2.33 GHz CPU with a 333 MHz bus.
const busCycle = 7 * clock.PerCycle

func newAPICBoard(n int) *apicBoard {
	b := &apicBoard{raised: make([]int, n)}
	for i := range n {
		b.apics = append(b.apics, newLAPIC(lapicConfig{
			ID: uint8(i), BusCycle: busCycle, Queue: &b.queue,
			Now:   func() clock.Ticks { return b.now },
			Raise: func() { b.raised[i]++ },
			Send:  b.send,
			Signal: func(m deliveryMode, _ uint8) {
				b.signals = append(b.signals, fmt.Sprintf("cpu%d mode %d", i, m))
			},
		}))
		b.apics[i].Store(regSVR, svrEnable|0xff)
	}
	return b
}

func (b *apicBoard) send(ipi message) {
	for _, a := range b.apics {
		if a.selects(ipi) {
			a.accept(ipi)
		}
	}
}

// run lets time pass up to t.
func (b *apicBoard) run(t clock.Ticks) {
	for {
		next, ok := b.queue.Next()
		if !ok || next > t {
			break
		}
		_, f, _ := b.queue.Pop()
		b.now = next
		f()
	}
	b.now = t
}

// TestLAPICEffects writes registers of four local APICs at random moments, among them interrupts to each other, and compares
// what all registers and CPUs have from then on with a sum.
func TestLAPICEffects(t *testing.T) {
	b, r, seen := newAPICBoard(4), rand.New(rand.NewPCG(1, 1)), sha256.New()
	for range 4000 {
		b.run(b.now + clock.Ticks(r.Int64N(int64(400*busCycle))))
		a, v := b.apics[r.IntN(4)], r.Uint32()
		switch off := uint64(r.IntN(0x40)) << 4; off {
		case regSVR: // most of the time they are on
			a.Store(off, v|svrEnable)
		case regLDR, regICRHigh: // few destinations
			a.Store(off, v&0x13<<24)
		case regDFR:
			a.Store(off, -(v&1)<<28|1<<28-1)
		default:
			a.Store(off, v>>(r.IntN(3)*8))
		}
		for i, a := range b.apics {
			for off := uint64(0); off < 0x400; off += 0x10 {
				fmt.Fprintln(seen, a.Load(off))
			}
			fmt.Fprintln(seen, b.raised[i], len(b.signals), a.Pending())
			if r.IntN(4) == 0 && a.Pending() {
				fmt.Fprintln(seen, a.Acknowledge())
				a.Store(regEOI, 0)
			}
		}
	}
	sum, want := fmt.Sprintf("%.6x %d %d", seen.Sum(nil), len(b.signals), b.raised), "13c79d312254 55 [14438 26262 24745 27868]"
	require.That(t, sum == want, "registers, signals and interrupts are %s, were %s: where the change is wanted, write it here", sum, want)
}

func TestLAPICReset(t *testing.T) {
	l := newLAPIC(lapicConfig{ID: 3, BusCycle: busCycle})
	for off, want := range map[uint64]uint32{
		regID: 3 << 24, regVersion: 0x50014, regTPR: 0, regPPR: 0, regLDR: 0, regDFR: 0xffffffff,
		regSVR: 0xff, regISR: 0, regIRR + 0x70: 0, regTMR: 0, regESR: 0, regICRLow: 0, regLVTTimer: 0x10000,
		regLVTError: 0x10000, 0x350: 0x10000, regInitial: 0, regCurrent: 0, regDivide: 0, regEOI: 0,
	} {
		require.Equal(t, l.Load(off), want, "register %#x after reset", off)
	}
}

// TestVirtualWire has the first APIC as firmware leaves it: interrupts of the 8259A at LINT0, and non-maskable ones at LINT1.
func TestVirtualWire(t *testing.T) {
	l := newLAPIC(lapicConfig{BusCycle: busCycle})
	l.virtualWire()
	for off, want := range map[uint64]uint32{regSVR: 0x1ff, 0x350: 0x700, 0x360: 0x400} {
		require.Equal(t, l.Load(off), want, "register %#x", off)
	}
}

func TestLAPICReservedBits(t *testing.T) {
	l := newLAPIC(lapicConfig{ID: 3, BusCycle: busCycle})
	l.Store(regSVR, svrEnable)
	for off, want := range map[uint64]uint32{
		regID: 3 << 24, regVersion: 0x50014, regTPR: 0xff, regLDR: 0xff000000, regDFR: 0xffffffff,
		regLVTTimer: 0x300ff, 0x330: 0x107ff, 0x340: 0x107ff, 0x350: 0x1a7ff, 0x360: 0x1a7ff,
		regLVTError: 0x100ff, regICRHigh: 0xff000000, regDivide: 0xb, regSVR: 0x3ff,
		regInitial: 0xffffffff, regISR: 0, regIRR: 0, regTMR: 0,
	} {
		l.Store(off, 0xffffffff)
		got := l.Load(off)
		require.That(t, got == want, "register %#x holds %#x of all ones, want %#x", off, got, want)
	}
	l.Store(regPPR, 0) // read-only: it follows the task priority
	got := l.Load(regPPR)
	require.That(t, got == 0xff, "the processor priority is %#x, want that of the task, 0xff", got)
	l.Store(regDFR, 0)
	if got := l.Load(regDFR); got != 0x0fffffff {
		t.Errorf("DFR holds %#x of zero", got)
	}
}

func TestLAPICPriority(t *testing.T) {
	b := newAPICBoard(1)
	l := b.apics[0]
	want := func(v uint8, ok bool) {
		t.Helper()
		gv, gok := l.next()
		require.Need(t, gok == ok && (!ok || gv == v), "pending %#x, %v; want %#x, %v", gv, gok, v, ok)
	}
	want(0, false)
	v := l.Acknowledge()
	require.That(t, v == 0xff, "acknowledging nothing gives %#x, want the spurious vector", v)
	l.request(0x31)
	l.request(0x35)
	l.request(0x82)
	want(0x82, true)
	if v := l.Acknowledge(); v != 0x82 || l.Load(regPPR) != 0x80 || l.Load(regISR+0x40) != 1<<2 {
		t.Fatalf("in service: %#x, PPR %#x", v, l.Load(regPPR))
	}
	want(0, false) // lower classes wait
	l.request(0x8f)
	want(0, false) // the same class too
	l.request(0x91)
	want(0x91, true) // a higher class nests
	l.Acknowledge()
	l.Store(regEOI, 0)
	require.Equal(t, l.Load(regPPR), 0x80, "PPR after the inner end of interrupt")
	l.Store(regEOI, 0)
	want(0x8f, true)
	l.Acknowledge()
	l.Store(regEOI, 0)
	want(0x35, true)
	l.Store(regTPR, 0x30)
	want(0, false)
	require.Equal(t, l.Load(regIRR+0x10), 1<<0x11|1<<0x15, "IRR")
	before := b.raised[0]
	l.Store(regTPR, 0x2f)
	want(0x35, true)
	require.That(t, b.raised[0] != before, "lowering the task priority does not tell the CPU")
	l.Store(regSVR, 0xff)
	want(0, false)
	l.request(0x90)
	l.Store(regSVR, svrEnable|0xff)
	want(0x35, true) // what came while disabled is lost, what was pending is kept
}

func TestLAPICTimer(t *testing.T) {
	for _, c := range []struct {
		divide uint32
		by     clock.Ticks
	}{{0, 2}, {1, 4}, {2, 8}, {3, 16}, {8, 32}, {9, 64}, {10, 128}, {11, 1}} {
		b := newAPICBoard(1)
		l := b.apics[0]
		l.Store(regDivide, c.divide)
		l.Store(regLVTTimer, 0x40)
		b.now = 1000
		l.Store(regInitial, 100)
		unit := c.by * busCycle
		for _, s := range []struct {
			after clock.Ticks
			count uint32
		}{{0, 100}, {unit - 1, 100}, {unit, 99}, {50 * unit, 50}, {99 * unit, 1}, {100*unit - 1, 1}} {
			b.run(1000 + s.after)
			require.Equal(t, l.Load(regCurrent), s.count, "divided by %d, after %d ticks: count", c.by, s.after)
		}
		require.That(t, !l.Pending(), "divided by %d: expired early", c.by)
		b.run(1000 + 100*unit)
		if v := l.Acknowledge(); v != 0x40 || l.Load(regCurrent) != 0 || b.queue.Len() != 0 {
			t.Errorf("divided by %d: vector %#x, count %d, %d events after the only expiry",
				c.by, v, l.Load(regCurrent), b.queue.Len())
		}
	}
}

func TestLAPICTimerPeriodic(t *testing.T) {
	b := newAPICBoard(1)
	l := b.apics[0]
	l.Store(regDivide, 11)
	l.Store(regLVTTimer, lvtPeriodic|0x40)
	l.Store(regInitial, 10)
	var at []clock.Ticks
	for b.now < 50*busCycle {
		b.run(b.now + busCycle)
		if l.Pending() {
			at = append(at, b.now/busCycle)
			l.Acknowledge()
			l.Store(regEOI, 0)
		}
	}
	want := []clock.Ticks{10, 20, 30, 40, 50}
	require.That(t, slices.Equal(at, want), "expired at %d bus cycles, want %d", at, want)
	b.now += 13 * busCycle // the CPU runs ahead of the events
	got := l.Load(regCurrent)
	require.That(t, got == 7, "count %d when 3 bus cycles into a period, want 7", got)
	l.Store(regLVTTimer, lvtMasked|lvtPeriodic|0x40)
	b.run(b.now + 20*busCycle)
	require.That(t, !l.Pending(), "a masked timer interrupts")
	l.Store(regInitial, 0)
	require.That(t, b.queue.Len() == 0 && l.Load(regCurrent) == 0, "the timer does not stop")
}

// TestLAPICDivideWhileRunning changes the divisor. In the last count, which begins anew, nothing is lost.
func TestLAPICDivideWhileRunning(t *testing.T) {
	for _, x := range []struct {
		after, by clock.Ticks // bus cycles, and what they are divided by from then on
		divide    uint32
		left      uint32
	}{{40, 2, 0, 60}, {99, 4, 1, 1}} {
		b := newAPICBoard(1)
		l := b.apics[0]
		l.Store(regDivide, 11)
		l.Store(regLVTTimer, 0x40)
		l.Store(regInitial, 100)
		b.run(x.after * busCycle)
		l.Store(regDivide, x.divide)
		require.Equal(t, l.Load(regCurrent), x.left, "count after changing the divisor behind %d", x.after)
		end := (x.after + clock.Ticks(x.left)*x.by) * busCycle
		b.run(end - 1)
		require.That(t, !l.Pending(), "behind %d: expired early", x.after)
		b.run(end)
		require.That(t, l.Pending(), "behind %d: not expired", x.after)
	}
}

func TestLAPICInterprocessor(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, high uint32
		fixed     []int
		signals   []string
	}{
		{"physical", 0x0041, 2 << 24, []int{2}, nil},
		{"broadcast", 0x0041, 0xff << 24, []int{0, 1, 2, 3}, nil},
		{"nobody", 0x0041, 9 << 24, nil, nil},
		{"logical flat", 0x0841, 0b0110 << 24, []int{1, 2}, nil},
		{"self", 0x40041, 0, []int{1}, nil},
		{"all", 0x80041, 0, []int{0, 1, 2, 3}, nil},
		{"others", 0xc0041, 0, []int{0, 2, 3}, nil},
		{"nmi", 0x400, 3 << 24, nil, []string{"cpu3 mode 4"}},
		{"init", 0x4500, 2 << 24, nil, []string{"cpu2 mode 5"}},
		{"init level de-assert", 0x8500, 2 << 24, nil, nil},
		{"start-up", 0x4608, 2 << 24, nil, []string{"cpu2 mode 6"}},
		{"reserved mode", 0x0741, 2 << 24, nil, nil},
		{"illegal vector", 0x000f, 2 << 24, nil, nil},
	} {
		b := newAPICBoard(4)
		for i, a := range b.apics {
			a.Store(regLDR, 1<<(24+i))
		}
		b.apics[1].Store(regICRHigh, c.high)
		b.apics[1].Store(regICRLow, c.low)
		var got []int
		for i, a := range b.apics {
			if v, ok := a.next(); ok && v == 0x41 {
				got = append(got, i)
			}
		}
		require.That(t, slices.Equal(got, c.fixed) && slices.Equal(b.signals, c.signals), "%s: reached %d, signals %q; want %d, %q", c.name, got, b.signals, c.fixed, c.signals)
		v := b.apics[1].Load(regICRLow)
		require.That(t, v&(1<<12) == 0 && v&0xff == c.low&0xff, "%s: the command register reads %#x", c.name, v)
	}
}

func TestLAPICErrors(t *testing.T) {
	b := newAPICBoard(1)
	l := b.apics[0]
	l.Store(regLVTError, 0x50)
	l.Load(0x40)              // reserved
	l.Store(0x24, 1)          // not aligned
	l.Store(regICRLow, 0x005) // illegal vector
	require.That(t, l.Load(regESR) == 0, "the error status shows errors before it is latched")
	l.Store(regESR, 0)
	require.Equal(t, l.Load(regESR), errRegister|errSendVector, "error status")
	v, ok := l.next()
	require.That(t, ok && v == 0x50, "error interrupt %#x, %v", v, ok)
	l.Store(regESR, 0)
	require.Equal(t, l.Load(regESR), 0, "error status after a second write")
	l.Store(regLVTError, 3) // delivers itself an illegal vector
	l.Load(0x40)
	l.Store(regESR, 0)
	require.Equal(t, l.Load(regESR), errRegister|errVector, "error status with an illegal error vector")
}

// TestLAPICAlone checks an APIC with nothing around it: it serves itself and does not panic.
func TestLAPICAlone(t *testing.T) {
	l := newLAPIC(lapicConfig{})
	l.Store(regSVR, svrEnable)
	l.Store(regInitial, 5)
	l.Store(regICRLow, 0x40041)
	l.Store(regICRLow, 0x40400)
	for off := uint64(0); off < 0x1000; off += 4 {
		l.Store(off, l.Load(off))
	}
	require.That(t, l.Pending(), "an APIC alone does not reach itself")
}
