package ppc64

import (
	"encoding/binary"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// Places of the user mode of these tests: one page each, in one segment, and a gap behind each.
const (
	userCode  = 0x10000000
	userData  = 0x10002000
	userConst = 0x10004000 // read-only
	userPlain = 0x10006000 // not executable
	userGap   = 0x10008000
	userNone  = 0x70000000 // no segment
)

func userMaps() []mmu.Mapping {
	page := func(va uint64, n uint64, write, exec bool) mmu.Mapping {
		return mmu.Mapping{VA: va, PA: freePages + n*0x1000, Size: 0x1000, User: true, Writable: write, Exec: exec}
	}
	return []mmu.Mapping{
		page(userCode, 0, false, true), page(userData, 1, true, true), page(userConst, 2, false, true),
		page(userPlain, 3, true, false),
	}
}

// userWorld has code in user mode, where the CPU stands.
func userWorld(t *testing.T, code ...uint32) (*world, *CPU) {
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	w.words(freePages, code...)
	c := w.cpu()
	c.setMSR(userMSR)
	c.R[rPC] = userCode
	return w, c
}

// to runs until an interrupt is delivered, and returns its vector.
func to(t *testing.T, c *CPU) uint64 {
	t.Helper()
	if e := c.Run(c.Now() + 1e7); e.Reason != cpus.Native {
		t.Fatalf("stopped at %#x for reason %d (%s)", c.PC(), e.Reason, e.Detail)
	}
	return c.PC()
}

// kernelRun executes code in the kernel up to a system call at its end.
func kernelRun(t *testing.T, code ...uint32) *CPU {
	t.Helper()
	c := newWorld(t, cpus.Throughput, append(code, insnSC)).cpu()
	if v := to(t, c); v != vecSyscall {
		t.Fatalf("interrupt %#x at %#x", v, c.srr[0])
	}
	return c
}

// TestMSR writes it in each way.
func TestMSR(t *testing.T) {
	const kernel = msrSF | msrME | msrIR | msrDR | msrRI
	load := []uint32{ldAt(3, 1, -8)}
	for _, x := range []struct {
		name       string
		word       uint32
		write, msr uint64
	}{
		{"mtmsrd", insnX(31, 3, 0, 0, 178), kernel | msrEE | msrHV, kernel | msrEE},
		{"mtmsrd, L = 1", insnX(31, 3, 1, 0, 178), msrEE | msrFP, kernel&^msrRI | msrEE},
		{"mtmsr keeps the upper half", insnX(31, 3, 0, 0, 146), msrFP | msrIR | msrDR, msrSF | msrFP | msrIR | msrDR},
		{"unknown bits", insnX(31, 3, 0, 0, 178), kernel | 1<<20 | 1<<40, kernel},
	} {
		w := newWorld(t, cpus.Throughput, append(load, x.word, insnX(31, 5, 0, 0, 83), insnSC))
		w.mem.Store(binary.BigEndian, testStack-8-kernelMap, 8, x.write)
		c := w.cpu()
		if v := to(t, c); v != vecSyscall || c.R[5] != x.msr {
			t.Errorf("%s: %s, MSR %#x, want %#x", x.name, vectorName(v), c.R[5], x.msr)
		}
	}
}

// handled lets interrupts reach code at their vectors.
func handled(w *world, vector uint64, code ...uint32) {
	w.bus.Native = [2]uint64{1, 1}
	w.words(vector, code...)
}

// halting waits for an interrupt that never comes: tests end there.
func halting(t *testing.T, c *CPU) {
	t.Helper()
	if e := c.Run(c.Now() + 1e7); e.Reason != cpus.Halted {
		t.Fatalf("stopped at %#x for reason %d (%s)", c.PC(), e.Reason, e.Detail)
	}
}

// nap sets POW by the value behind the stack pointer at -16.
func nap() []uint32 { return []uint32{ldAt(3, 1, -16), insnX(31, 3, 0, 0, 178)} }

// TestContexts books a trap's handler that turns translation on by rfid, as kernels do, and returns by another.
func TestContexts(t *testing.T) {
	const kernel = msrSF | msrME | msrIR | msrDR
	w := newWorld(t, cpus.Throughput, append([]uint32{insnNop, insnTrap, insnNop}, nap()...))
	common := append([]uint32{insnNop}, mtspr(26, 21), mtspr(27, 22), insnRfid)
	w.words(0x12000, common...)
	handled(w, vecProgram,
		mfsprOf(21, 26), addiTo(21, 21, 4), mfsprOf(22, 27), mtspr(26, 23), mtspr(27, 24), insnRfid)
	w.mem.Store(binary.BigEndian, testStack-16-kernelMap, 8, kernel|msrRI|msrPOW)
	c := w.cpu()
	c.R[23], c.R[24] = kernelMap+0x12000, kernel
	halting(t, c)
	n := c.Counters()
	if got, want := n.Count[cpus.Breakpoint][0], uint64(6+4); got != want {
		t.Errorf("%d instructions in the trap's handler, want %d", got, want)
	}
	if got, want := n.Count[cpus.NoException][0], uint64(3+2); got != want {
		t.Errorf("%d instructions beside it, want %d", got, want)
	}
}

// TestTranslationsOfModes goes from each state of SF, PR, IR and DR to each other one, and executes a load there. Which page it is
// fetched from and which it reads is that of the state alone.
func TestTranslationsOfModes(t *testing.T) {
	const at, real, nobody = 0x200000, 6, 8 // pages of real mode come behind the mapped ones
	bases := [3]uint64{0, 1 << 31, 1 << 32}
	var maps []mmu.Mapping
	for i := range uint64(real) { // a page of all and one of the kernel at each base
		maps = append(maps, mmu.Mapping{VA: bases[i>>1] + at + i&1*0x1000, PA: freePages + i*0x1000, Size: 0x1000, User: i&1 == 0, Writable: true, Exec: true})
	}
	w := newWorld(t, cpus.Throughput, nil, maps...)
	for i := range uint64(nobody) {
		pa := freePages + i*0x1000
		if i >= real {
			pa = at + i&1*0x1000
		}
		w.words(pa, insnD(32, 10+uint32(i), 3, 0x101)) // lwz r10+i,0x101(r3)
		w.words(pa+0x100, uint32(i)<<8, 0x55000000)
	}
	page := func(msr, translated, va uint64) (i uint64, ok bool) {
		if msr&msrSF == 0 {
			va &= 1<<32 - 1
		}
		i = va >> 12 & 1
		switch {
		case msr&translated == 0 && va >= worldRAM:
			return nobody, true
		case msr&translated == 0:
			return real + i, true
		}
		return i + 2*uint64(slices.Index(bases[:], va&^0xffffff)), msr&msrPR == 0 || i == 0
	}
	var states []uint64
	for i := range uint64(16) {
		states = append(states, msrME|i&1*msrSF|i>>1&1*msrPR|i>>2&1*msrIR|i>>3&1*msrDR)
	}
	c := w.cpu()
	execute := func(msr, code, data uint64) {
		for i := range nobody {
			c.R[10+i] = 0
		}
		c.setMSR(msr)
		c.R[3], c.R[rPC] = data, code&c.AddrMask
		c.Steps(1, 1<<60)
		want := [nobody]uint64{}
		by, fetched := page(msr, msrIR, code)
		of, allowed := page(msr, msrDR, data)
		switch {
		case !fetched || by == nobody || !allowed:
		case of == nobody:
			want[by] = 1<<32 - 1
		default:
			want[by] = of<<16 | 0x55
		}
		got := [nobody]uint64(c.R[10 : 10+nobody])
		require.That(t, got == want, "MSR %#x, code at %#x, data at %#x: loaded %x, want %x", msr, code, data, got, want)
	}
	for _, base := range bases {
		for n, kernel := range [][2]uint64{{0, 0}, {0, 0x1000}, {0x1000, 0}} {
			for _, from := range states {
				for _, to := range states {
					execute(from, base+at+kernel[0], bases[n]+at+kernel[1])
					execute(to, base+at+kernel[0], bases[n]+at+kernel[1])
				}
			}
		}
	}
}

// TestExternal takes an external interrupt when EE is set, at a level.
func TestExternal(t *testing.T) {
	w := newWorld(t, cpus.Throughput, append(nap(), insnNop))
	const kernel = msrSF | msrME | msrIR | msrDR | msrRI
	w.mem.Store(binary.BigEndian, testStack-16-kernelMap, 8, kernel|msrPOW)
	c := w.cpu()
	w.irq.up = true
	c.Interrupt()
	halting(t, c) // EE is off
	w.mem.Store(binary.BigEndian, testStack-16-kernelMap, 8, kernel|msrPOW|msrEE)
	c.Start()
	c.R[rPC] = testCode
	if v := to(t, c); v != vecExternal || c.srr[0] != testCode+8 || c.Halted {
		t.Errorf("%s, SRR0 %#x", vectorName(v), c.srr[0])
	}
}

// Expires implements Decrementer.
func (l *line) Expires(at clock.Ticks) { l.at = append(l.at, at) }

// TestDecrementer counts down, tells the board, and interrupts once.
func TestDecrementer(t *testing.T) {
	c := newWorld(t, cpus.Throughput, []uint32{li(3, 100), mtspr(22, 3), mfsprOf(4, 22), insnI(0, 0)}).cpu()
	c.setMSR(c.msr | msrEE)
	irq := c.Bus.Interrupts.(*line)
	if e := c.Run(1e6); e.Reason != cpus.Limit || len(irq.at) != 1 {
		t.Fatalf("reason %d, told %d times", e.Reason, len(irq.at))
	}
	at := irq.at[0]
	if d := at - c.Now(); d > 101*tick || d < 100*tick {
		t.Errorf("expires in %d ticks of the time base", d/tick)
	}
	c.Run(at)
	require.That(t, c.R[4] <= 100 && c.R[4] >= 99, "reads %d", c.R[4])
	if c.decrementer()>>31 == 0 {
		t.Errorf("%#x after its time", c.decrementer())
	}
	c.Signal(LineDecrementer)
	if v := to(t, c); v != vecDecrementer {
		t.Fatal(vectorName(v))
	}
	c.setMSR(c.msr | msrEE) // it was taken
	c.Signal(LineDecrementer)
	if c.Poll(); c.PC() != vecDecrementer || c.Counts.Exceptions[vecDecrementer>>vectorShift] != 1 {
		t.Error("a second interrupt")
	}
	c.setDecrementer(5)
	c.setDecrementer(1<<32 - 1) // the sign changes
	require.That(t, c.expired(), "a negative value does not interrupt")
	c.setDecrementer(1000)
	require.That(t, !c.expired(), "it interrupts at once")
	c.Signal(LineExpire)
	require.That(t, c.expired() && c.expires == c.Now() && c.decrementer() > 900, "it is to interrupt early: due at %d of %d", c.expires, c.Now())
	c.setDecrementer(1 << 31)
	due := c.expires
	c.Signal(LineExpire)
	require.Equal(t, c.expires, due, "when an interrupt is due anyway")
	c.stopDecrementer()
	c.Signal(LineExpire)
	require.That(t, !c.expired(), "a decrementer that is held off interrupts")
}

// TestTimeBase reads it by both instructions, and sets it.
func TestTimeBase(t *testing.T) {
	var code []uint32
	for range 200 {
		code = append(code, insnNop)
	}
	c := kernelRun(t, append(append([]uint32{mfsprOf(3, 268)}, code...), insnSPR(4, 268, 371), insnSPR(5, 269, 371))...)
	if d := c.R[4] - c.R[3]; d < 200/8/4 || d > 1000 || c.R[5] != 0 {
		t.Errorf("%d passed, the upper half is %d", d, c.R[5])
	}
	c = kernelRun(t, li(3, 5), mtspr(285, 3), li(3, 0), mtspr(284, 3), mfsprOf(4, 268), mfsprOf(5, 269))
	require.That(t, c.R[4]>>32 == 5 && c.R[4]&0xffffffff <= 10 && c.R[5] == 5, "%#x after it was set", c.R[4])
}

// TestDABR stops loads and stores of a doubleword before they have an effect.
func TestDABR(t *testing.T) {
	for _, x := range []struct {
		name string
		code uint32
		bits uint64
		at   uint64
		hit  bool
	}{
		{"load", insnD(32, 4, 3, 0), dabrLoads | dabrBT, 12, true},
		{"store", insnD(37, 4, 3, 0), dabrStores | dabrBT, 8, true},
		{"load that reaches into it", ldAt(4, 3, 0), dabrLoads | dabrBT, 4, true},
		{"store that reaches into it", stdAt(4, 3, 0), dabrStores | dabrBT, 4, true},
		{"store that ends before it", stdAt(5, 3, 0), dabrStores | dabrBT, 0, false},
		{"load of another kind", insnD(32, 4, 3, 0), dabrStores | dabrBT, 12, false},
		{"load beside", insnD(32, 4, 3, 0), dabrLoads | dabrBT, 16, false},
		{"in the other mode of translation", insnD(32, 4, 3, 0), dabrLoads, 12, false},
		{"disarmed", insnD(32, 4, 3, 0), dabrBT, 12, false},
	} {
		_, c := userWorld(t, x.code, insnSC)
		c.setDABR(userData + 8 | x.bits)
		c.R[3], c.R[4] = userData+x.at, 0x55
		v := to(t, c)
		if !x.hit {
			if v != vecSyscall {
				t.Errorf("%s: %s", x.name, vectorName(v))
			}
			continue
		}
		if v != vecData || c.dsisr&^dsisrStore != dsisrDABR || c.dar != userData+x.at || c.R[4] != 0x55 || c.R[3] != c.dar {
			t.Errorf("%s: %s, DSISR %#x, DAR %#x", x.name, vectorName(v), c.dsisr, c.dar)
		}
		require.That(t, slices.Max(c.Memory.Bytes(freePages+0x1000, 32)) == 0, "%s: memory has changed", x.name)
	}
}

// TestReset parks a CPU, which boots again like a new one.
func TestReset(t *testing.T) {
	w := newWorld(t, cpus.Throughput, []uint32{li(3, 1), insnSC})
	c := w.cpu()
	to(t, c)
	c.Reset()
	require.Equal(t, c.Run(c.Now()+1000).Reason, cpus.Halted, "reason")
	c.Boot(testCode, testStack, 5, 6)
	require.That(t, c.R[3] == 5 && c.R[4] == 6 && c.PC() == testCode, "arguments are lost")
	if v := to(t, c); v != vecSyscall || c.R[3] != 1 {
		t.Error(vectorName(v))
	}
	c.Signal(LineReset)
	if v := to(t, c); v != vecReset {
		t.Error(vectorName(v))
	}
}

// TestCall calls a guest function with ten arguments from a native one, which then returns itself.
func TestCall(t *testing.T) {
	w := newWorld(t, cpus.Throughput, nil)
	w.words(0x14000, ldAt(9, 1, 48+8*8), ldAt(8, 1, 48+9*8), addTo(3, 9, 8), insnBlr)
	c := w.cpu()
	c.R[rLR], c.R[rTOC] = testCode+8, 77
	c.poke(testStack+48+8*8, 0x99)
	require.Need(t, c.Arg(8) == 0x99 && c.SP() == testStack, "arguments on the stack")
	back := c.Call(cpus.Entry{PC: kernelMap + 0x14000, TOC: 88}, 0x200, 32, 1, 2, 3, 4, 5, 6, 7, 8, 20, 22)
	if c.R[10] != 8 || c.R[rTOC] != 88 || back%16 != 0 || back > testStack-redZone-32 {
		t.Errorf("r10 %d, r2 %d, stack %#x", c.R[10], c.R[rTOC], back)
	}
	c.setMSR(c.msr) // it returns to a native address, which is looked at in the kernel alone
	if v := to(t, c); v != 0x200 || c.SP() != back {
		t.Fatalf("at %#x, stack %#x", v, c.SP())
	}
	if got := c.Returned(testStack); got != 42 || c.R[rTOC] != 77 {
		t.Errorf("returned %d, r2 %d", got, c.R[rTOC])
	}
	if c.Return(5); c.PC() != testCode+8 || c.R[3] != 5 || c.SP() != testStack {
		t.Errorf("at %#x", c.PC())
	}
}

// TestBranches tells the branches, which a trace may be of alone, from what else their opcodes have.
func TestBranches(t *testing.T) {
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	c := w.cpu()
	for word, want := range map[uint32]bool{
		16 << 26: true, 18 << 26: true, 17 << 26: false, 19<<26 | 16<<1: true, 19<<26 | 528<<1: true, 19<<26 | 528<<1 | 1: true,
		19<<26 | 17<<1: false, 19<<26 | 18<<1: false, 19<<26 | 150<<1: false, 31<<26 | 16<<1: false,
	} {
		w.words(freePages, word)
		require.Equal(t, c.isBranch(userCode), want, "whether %#x is a branch", word)
	}
	require.That(t, !c.isBranch(1<<40), "what is not mapped is a branch")
}
