package arm

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestWaitForInterrupt stops at wfi until an interrupt is pending, also a masked one.
func TestWaitForInterrupt(t *testing.T) {
	for _, masked := range []bool{true, false} {
		w := newWorld(t, cpus.Throughput, []uint32{insnWFI, insnSVC})
		c := w.cpu()
		if !masked {
			c.setCPSR(0, psrI)
		}
		for range 3 {
			if e := c.Run(c.Now() + 1e6); e.Reason != cpus.Halted {
				t.Fatalf("stopped for %v", e.Reason)
			}
			c.Interrupt() // nothing is pending
		}
		w.irq.up = true
		c.Interrupt()
		want := vecSupervisorCall
		if !masked {
			want = vecIRQ
		}
		if v := to(t, c); v != want {
			t.Errorf("masked %v: %s", masked, vectorNames[v])
		}
	}
}

// TestInterrupts delivers both kinds, FIQ first, and looks at what they leave.
func TestInterrupts(t *testing.T) {
	w := newWorld(t, cpus.Window, []uint32{insnNop, insnNop})
	c := w.cpu()
	c.setCPSR(0, psrI|psrF)
	c.R[8] = 0x88
	w.irq.up = true
	c.Signal(LineFIQ)
	if v := to(t, c); v != vecFIQ || c.cpsr()&psrControl != modeFIQ|psrA|psrI|psrF || c.R[rLR] != testCode+4 || c.R[8] != 0 {
		t.Fatalf("%s, cpsr %#x, lr %#x, r8 %#x", vectorNames[v], c.cpsr(), c.R[rLR], c.R[8])
	}
	c.R[rPC] = testCode
	c.setCPSR(*c.spsr(), ^uint32(0))
	if v := to(t, c); v != vecIRQ || c.cpsr()&psrControl != modeIRQ|psrA|psrI || c.R[8] != 0x88 {
		t.Fatalf("%s, cpsr %#x, r8 %#x", vectorNames[v], c.cpsr(), c.R[8])
	}
	if n := c.Counters(); n.Exceptions[vecFIQ] != 1 || n.Exceptions[vecIRQ] != 1 || c.Masked() != true {
		t.Errorf("%d and %d exceptions", n.Exceptions[vecFIQ], n.Exceptions[vecIRQ])
	}
}

// TestProcessor reads what a processor says of itself, and divides on one that does and on one that does not.
func TestProcessor(t *testing.T) {
	for _, divides := range []uint64{0, 1} {
		w := newWorld(t, cpus.Window, []uint32{
			mrc(0, 0, 0, 0, 4), mrc(0, 0, 0, 5, 5), mrc(0, 0, 2, 0, 6),
			0x0730f211, // udiveq r0, r1, r2, which is not executed
			always32 | 0x0730f211, insnSVC,
		})
		w.cfg.Processor = map[string]uint64{numberMIDR: 0x410fc075, numberCluster: 3, numberDivide: divides}
		w.cpu()
		c := w.cpu()
		c.R[1], c.R[2] = 42, 6
		want, quotient := vecUndefined, uint64(0)
		if divides != 0 {
			want, quotient = vecSupervisorCall, 7
		}
		if v := to(t, c); v != want || c.R[0] != quotient || c.Counters().Unmodelled != 0 {
			t.Errorf("divide %d: %s, %d", divides, vectorNames[v], c.R[0])
		}
		if c.R[4] != 0x410fc075 || c.R[5] != 0x80000301 || c.R[6]>>24&15 != 2*divides {
			t.Errorf("divide %d: MIDR %#x, MPIDR %#x, ID_ISAR0 %#x", divides, c.R[4], c.R[5], c.R[6])
		}
	}
}

// TestThumb goes to code in Thumb state, which is undefined at its target by name.
func TestThumb(t *testing.T) {
	for _, x := range []struct {
		name string
		code []uint32
		at   uint64
		link uint64
	}{
		{"bx", append(constantTo(3, testCode+0x101), always32|0x012fff13), testCode + 0x100, 0},
		{"bx to a half word", append(constantTo(3, testCode+0x103), always32|0x012fff13), testCode + 0x102, 0},
		{"blx to a half word", []uint32{0xfb00003e}, testCode + 0x102, testCode + 4},
		{"ldr pc", []uint32{always32 | 0x051ff004, testCode + 0x101}, testCode + 0x100, 0},
	} {
		c := newWorld(t, cpus.Window, x.code).cpu()
		c.R[rLR] = 0
		link := &c.banks[bankSupervisor].lr
		if v := to(t, c); v != vecUndefined || *c.spsr()&psrT == 0 || c.R[rLR] != x.at+2 || *link != x.link {
			t.Errorf("%s: %s at %#x, spsr %#x, link %#x", x.name, vectorNames[v], c.R[rLR], *c.spsr(), *link)
		}
		n := c.Counters()
		require.That(t, n.Unmodelled == 1 && n.LastUnknown != "" && c.control&psrT == 0, "%s: %d unmodelled, %q", x.name, n.Unmodelled, n.LastUnknown)
	}
}

// A return from an exception to Thumb state keeps half words apart, and drops the lowest bit.
func TestReturnToThumb(t *testing.T) {
	for _, low := range []uint64{0, 1, 2, 3} {
		c := newWorld(t, cpus.Window, []uint32{always32 | 0x01b0f00e}).cpu() // movs pc, lr
		c.R[rLR] = testCode + 0x100 + low
		*c.spsr() = c.control | psrT
		if v := to(t, c); v != vecUndefined || *c.spsr()&psrT == 0 || c.R[rLR] != testCode+0x102+low&2 {
			t.Errorf("%d: %s at %#x, spsr %#x", low, vectorNames[v], c.R[rLR], *c.spsr())
		}
	}
}

// TestTimers reads the counter and sets timers in each way; the board is told when their outputs are up.
func TestTimers(t *testing.T) {
	mrrc := func(op, crm, rt, rt2 uint32) uint32 { return always32 | 0x0c500f00 | rt2<<16 | rt<<12 | op<<4 | crm }
	mcrr := func(op, crm, rt, rt2 uint32) uint32 { return mrrc(op, crm, rt, rt2) &^ (1 << 20) }
	w := newWorld(t, cpus.Throughput, []uint32{
		mrc(14, 0, 0, 0, 0), mrrc(0, 14, 1, 2),
		dataConstant(opMOV, 0, 0, 3, 240), mcr(14, 0, 2, 0, 3), dataConstant(opMOV, 0, 0, 4, 1), mcr(14, 0, 2, 1, 4),
		mrc(14, 0, 2, 0, 5), mrc(14, 0, 2, 1, 6), mrrc(2, 14, 7, 8),
		dataConstant(opMOV, 0, 0, 9, 77), dataConstant(opMOV, 0, 0, 10, 0), mcrr(3, 14, 9, 10), mcr(14, 0, 3, 1, 4),
		dataConstant(opMOV, 0, 0, 4, 3), mcr(14, 0, 3, 1, 4), mrrc(3, 14, 11, 12), insnSVC,
	})
	c := w.cpu()
	c.Advance(1e9 * clock.PerCycle) // a second
	if v := to(t, c); v != vecSupervisorCall {
		t.Fatal(vectorNames[v])
	}
	if c.R[0] != counterHz || c.R[1]-counterHz > 100 || c.R[2] != 0 || c.R[5] > 240 || c.R[6] != 1 || c.R[7]-c.R[1] > 300 || c.R[11] != 77 {
		t.Errorf("registers %d", c.R[:13])
	}
	p := w.irq.timer[PhysicalTimer]
	if got, want := p[len(p)-1], clock.Ticks(c.R[7]*1e9*uint64(clock.PerCycle)/counterHz); got != want && got != want+1 {
		t.Errorf("the physical timer is up at %d, want %d", got, want)
	}
	v := w.irq.timer[VirtualTimer]
	if n := len(v); v[n-1] != Never || v[n-2] != 77*1e9*clock.PerCycle/counterHz+1 && v[n-2] != 77*1e9*clock.PerCycle/counterHz {
		t.Errorf("the virtual timer is up at %d", v)
	}
	c.R[rPC] = testCode
	c.setCPSR(modeUser, psrMode)
	if v := to(t, c); v != vecUndefined && v != vecPrefetchAbort {
		t.Errorf("user mode: %s", vectorNames[v])
	}
}

// TestMark stops behind a mark where somebody asks for it, and goes on where nobody does.
func TestMark(t *testing.T) {
	for _, stop := range []bool{false, true} {
		w := newWorld(t, cpus.Throughput, []uint32{0xe320f0f7, insnSVC}) // dbg #7
		c := w.cpu()
		var got []uint64
		c.Bus.Marked = func(_ int, n uint64) bool { got = append(got, n); return stop }
		if stop {
			e := c.Run(c.Now() + 1e6)
			require.Equal(t, e.Reason, cpus.Broken, "why it stops")
		}
		require.That(t, to(t, c) == vecSupervisorCall && slices.Equal(got, []uint64{7}), "marks %d", got)
		c = newWorld(t, cpus.Throughput, []uint32{0xe320f0f7, insnSVC}).cpu()
		require.Equal(t, to(t, c), vecSupervisorCall, "where nobody asks")
	}
}

// TestArguments reads the arguments of a function: four in registers, the others on the stack.
func TestArguments(t *testing.T) {
	w := newWorld(t, cpus.Throughput, []uint32{insnNop})
	c := w.cpu()
	for i := range 4 {
		c.R[i] = uint64(10 + i)
	}
	c.R[rSP] = testCode + 0x100
	w.words(testCode-kernelMap+0xfc, 13, 14, 15, 16)
	for i := range 7 {
		require.Equal(t, c.Arg(i), uint64(10+i), "argument %d", i)
	}
}

// TestLeftOut names parts of the architecture that are not modelled, and nothing of what is.
func TestLeftOut(t *testing.T) {
	for word, want := range map[uint32]string{
		0xf2000110: "Advanced SIMD", 0xf3b00000: "Advanced SIMD", 0xf421070f: "Advanced SIMD",
		0xf451f000: "", 0xf551f000: "", // preloads
		0xee300a00: "floating point", 0xed910b00: "floating point", 0xee000e10: "coprocessor 14", 0xec510f00: "coprocessor 15",
		0xef000000: "", 0xe7f000f0: "", 0xe0000000: "",
	} {
		require.Equal(t, leftOut(word), want, "%#x", word)
	}
}
