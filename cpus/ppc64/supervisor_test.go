package ppc64

import (
	"encoding/binary"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
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

// TestInterrupts raises each interrupt that an instruction can raise in user mode, and looks at the registers
// that say why.
func TestInterrupts(t *testing.T) {
	lwz := func(at uint64) []uint32 { return append(address(3, at), insnD(32, 4, 3, 0)) }
	stw := func(at uint64) []uint32 { return append(address(3, at), insnD(36, 4, 3, 0)) }
	jump := func(at uint64) []uint32 { return append(address(3, at), mtspr(9, 3), 0x4e800420) }
	const data, code = 2 * 4, -1 // where SRR0 is: an offset from the code, or the address that was jumped to
	for _, x := range []struct {
		name   string
		code   []uint32
		vector uint64
		srr0   int
		reason uint64
		dar    uint64
		dsisr  uint64
	}{
		{"trap", []uint32{insnTrap}, vecProgram, 0, srr1Trap, 0, 0},
		{"illegal", []uint32{0}, vecProgram, 0, srr1Illegal, 0, 0},
		{"prefixed", []uint32{0x04000000, 0}, vecProgram, 0, srr1Illegal, 0, 0},
		{"bcctr that counts", []uint32{insnX(19, 16, 0, 0, 528)}, vecProgram, 0, srr1Illegal, 0, 0},
		{"load into its base", []uint32{insnD(33, 3, 3, 0)}, vecProgram, 0, srr1Illegal, 0, 0},
		{"privileged", []uint32{insnX(31, 3, 0, 0, 83)}, vecProgram, 0, srr1Privileged, 0, 0},
		{"privileged register", []uint32{mfsprOf(3, 26)}, vecProgram, 0, srr1Privileged, 0, 0},
		{"unknown register", []uint32{mfsprOf(3, 1000)}, vecProgram, 0, srr1Illegal, 0, 0},
		{"unknown privileged register", []uint32{mfsprOf(3, 1020)}, vecProgram, 0, srr1Privileged, 0, 0},
		{"hypervisor call", []uint32{insnSC | 1<<5}, vecProgram, 0, srr1Illegal, 0, 0},
		{"floating point", []uint32{insnD(50, 1, 1, 0)}, vecFloat, 0, 0, 0, 0},
		{"system call", []uint32{insnSC}, vecSyscall, 4, 0, 0, 0},
		{"load, no page", lwz(userGap), vecData, data, 0, userGap, dsisrNotFound},
		{"store, no page", stw(userGap), vecData, data, 0, userGap, dsisrNotFound | dsisrStore},
		{"store, read-only", stw(userConst), vecData, data, 0, userConst, dsisrProtected | dsisrStore},
		{"load, no segment", lwz(userNone), vecDataSegment, data, 0, userNone, 0},
		{"store, no segment", stw(userNone), vecDataSegment, data, 0, userNone, 0},
		{"fetch, no page", jump(userGap), vecInst, code, srr1NotFound, 0, 0},
		{"fetch, no segment", jump(userNone), vecInstSegment, code, 0, 0, 0},
		{"fetch, not executable", jump(userPlain), vecInst, code, srr1NoExecute, 0, 0},
		{"lwarx", append(address(3, userData+2), insnX(31, 4, 0, 3, 20)), vecAlignment, data, 0, userData + 2, 0x80},
		{"stdcx.", append(address(3, userData+4), insnX(31, 4, 0, 3, 214)|1), vecAlignment, data, 0, userData + 4, 0xd80},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, c := userWorld(t, x.code...)
			if v := to(t, c); v != x.vector {
				t.Fatalf("%s, want %s", vectorName(v), vectorName(x.vector))
			}
			at := uint64(userCode) + uint64(x.srr0)
			if x.srr0 == code {
				at = c.R[3]
			}
			if c.srr[0] != at || c.srr[1] != userMSR|x.reason {
				t.Errorf("SRR0 %#x SRR1 %#x, want %#x %#x", c.srr[0], c.srr[1], at, userMSR|x.reason)
			}
			if c.msr != msrSF|msrME {
				t.Errorf("MSR %#x in the handler", c.msr)
			}
			if x.vector != vecAlignment && (c.dar != x.dar || c.dsisr != x.dsisr) || c.dar != x.dar {
				t.Errorf("DAR %#x DSISR %#x, want %#x %#x", c.dar, c.dsisr, x.dar, x.dsisr)
			}
			if c.Counts.Exceptions[x.vector>>vectorShift] != 1 {
				t.Error("the interrupt was not counted")
			}
		})
	}
}

// TestSystemCall looks at what the other tests rely on.
func TestSystemCall(t *testing.T) {
	_, c := userWorld(t, li(3, 7), insnSC)
	if v := to(t, c); v != vecSyscall || c.R[3] != 7 || c.srr[0] != userCode+8 {
		t.Errorf("%s, r3 %d, SRR0 %#x", vectorName(v), c.R[3], c.srr[0])
	}
}

// TestUserAccess keeps user mode out of the kernel's pages, and lets the kernel into the pages of user mode.
func TestUserAccess(t *testing.T) {
	_, c := userWorld(t, insnD(32, 4, 3, 0))
	c.R[3] = kernelMap
	if v := to(t, c); v != vecData || c.dsisr != dsisrProtected || c.dar != kernelMap {
		t.Errorf("%s, DSISR %#x", vectorName(v), c.dsisr)
	}
	w := newWorld(t, cpus.Throughput, append(address(3, userData), insnD(36, 3, 3, 0), insnSC), userMaps()...)
	c = w.cpu()
	if v := to(t, c); v != vecSyscall || w.mem.Load(binary.BigEndian, freePages+0x1000, 4) != userData {
		t.Errorf("%s", vectorName(v))
	}
}

// TestRfid goes from the kernel to user mode and comes back.
func TestRfid(t *testing.T) {
	code := append(address(3, userCode), mtspr(26, 3))
	code = append(code, ldAt(4, 1, -8), mtspr(27, 4), insnRfid)
	w := newWorld(t, cpus.Throughput, code, userMaps()...)
	w.words(freePages, insnNop, insnSC)
	c := w.cpu()
	w.mem.Store(binary.BigEndian, testStack-8-kernelMap, 8, msrSF|msrPR|msrME) // PR brings EE, IR and DR
	if v := to(t, c); v != vecSyscall || c.srr[0] != userCode+8 || c.srr[1] != userMSR&^msrRI {
		t.Errorf("%s at %#x, SRR1 %#x", vectorName(v), c.srr[0], c.srr[1])
	}
	if c.Counts.ContextSyncs != 1 {
		t.Errorf("%d context synchronizations", c.Counts.ContextSyncs)
	}
}

// TestPrivileged executes every privileged instruction in user mode.
func TestPrivileged(t *testing.T) {
	for name, word := range map[string]uint32{
		"rfid": insnRfid, "mfmsr": insnX(31, 3, 0, 0, 83), "mtmsr": insnX(31, 3, 0, 0, 146),
		"mtmsrd": insnX(31, 3, 0, 0, 178), "mtmsrd 1": insnX(31, 3, 1, 0, 178), "slbmte": insnX(31, 3, 0, 4, 402),
		"slbie": insnX(31, 0, 0, 3, 434), "slbia": insnX(31, 0, 0, 0, 498), "slbmfee": insnX(31, 3, 0, 4, 915),
		"slbmfev": insnX(31, 3, 0, 4, 851), "tlbie": insnX(31, 0, 0, 3, 306), "tlbiel": insnX(31, 0, 0, 3, 274),
		"tlbsync": insnX(31, 0, 0, 0, 566), "mtspr srr0": mtspr(26, 3), "mfspr dec": mfsprOf(3, 22),
	} {
		_, c := userWorld(t, word)
		if v := to(t, c); v != vecProgram || c.srr[1]&srr1Reasons != srr1Privileged {
			t.Errorf("%s: %s, SRR1 %#x", name, vectorName(v), c.srr[1])
		}
	}
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

// stepper counts in r20 and returns: interrupts that leave everything else alone.
func stepper(n uint32) []uint32 { return []uint32{addiTo(n, n, 1), insnRfid} }

// halting waits for an interrupt that never comes: tests end there.
func halting(t *testing.T, c *CPU) {
	t.Helper()
	if e := c.Run(c.Now() + 1e7); e.Reason != cpus.Halted {
		t.Fatalf("stopped at %#x for reason %d (%s)", c.PC(), e.Reason, e.Detail)
	}
}

// nap sets POW by the value behind the stack pointer at -16.
func nap() []uint32 { return []uint32{ldAt(3, 1, -16), insnX(31, 3, 0, 0, 178)} }

// unstep clears SE and BE.
func unstep() []uint32 {
	return []uint32{ldAt(3, 1, -32), insnX(31, 3, 0, 0, 178)}
}

// tracing is code that begins behind an rfid which sets bits of MSR, and ends with a wait. The
// trace handler counts in r20.
func tracing(t *testing.T, bits uint64, code ...uint32) *CPU {
	begin := append(address(4, 0x10040), ldAt(5, 1, -8), insnX(31, 4, 4, 5, 444)) // or r4,r4,r5
	begin = append(begin, mtspr(26, 4), ldAt(5, 1, -24), mtspr(27, 5), insnRfid)
	for len(begin) < 16 {
		begin = append(begin, 0)
	}
	const kernel = msrSF | msrME | msrIR | msrDR | msrRI
	w := newWorld(t, cpus.Throughput, append(begin, append(code, nap()...)...))
	handled(w, vecTrace, stepper(20)...)
	w.mem.Store(binary.BigEndian, testStack-8-kernelMap, 8, kernelMap)
	w.mem.Store(binary.BigEndian, testStack-24-kernelMap, 8, kernel|bits)
	w.mem.Store(binary.BigEndian, testStack-16-kernelMap, 8, kernel|msrPOW)
	w.mem.Store(binary.BigEndian, testStack-32-kernelMap, 8, kernel)
	c := w.cpu()
	halting(t, c)
	return c
}

// TestTrace counts trace interrupts. The wait at the end is two instructions, of which the first is traced.
func TestTrace(t *testing.T) {
	const wait = 1
	for _, x := range []struct {
		name string
		bits uint64
		code []uint32
		want uint64
	}{
		{"off", 0, []uint32{insnNop, insnNop}, 0},
		{"every instruction", msrSE, []uint32{insnNop, insnNop, insnIsync}, 3 + wait},
		{"the instruction that ends it", msrSE, append(unstep(), insnNop, insnNop), 2},
		{"branches taken or not", msrSE, []uint32{insnI(0, 8), 0, branchIf(4, 31, 8), insnNop}, 2 + wait},
		{"branches alone", msrBE, []uint32{insnI(0, 8), 0, insnNop, branchIf(20, 0, 4), insnNop}, 2},
		{"not a branch that is not there", msrBE, []uint32{insnNop}, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := tracing(t, x.bits, x.code...)
			if c.R[20] != x.want || c.Counts.Exceptions[vecTrace>>vectorShift] != x.want {
				t.Errorf("%d trace interrupts, want %d", c.R[20], x.want)
			}
			if x.want > 0 && c.Counts.Count[cpus.SingleStep][0] != 2*x.want {
				t.Errorf("%d instructions in single steps, want %d", c.Counters().Count[cpus.SingleStep][0], 2*x.want)
			}
		})
	}
}

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
	if c.R[4] > 100 || c.R[4] < 99 {
		t.Errorf("reads %d", c.R[4])
	}
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
	if !c.expired() {
		t.Error("a negative value does not interrupt")
	}
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
	if c.R[4]>>32 != 5 || c.R[4]&0xffffffff > 10 || c.R[5] != 5 {
		t.Errorf("%#x after it was set", c.R[4])
	}
}

// TestRegistersKeep writes special-purpose registers and reads them back.
func TestRegistersKeep(t *testing.T) {
	for _, x := range []struct {
		spr  uint32
		want uint64
	}{
		{18, 0x9abcdef7},
		{19, 0x123456789abcdef7},
		{26, 0x123456789abcdef4},
		{27, 0x123456789abcdef7},
		{272, 0x123456789abcdef7},
		{273, 0x123456789abcdef7},
		{274, 0x123456789abcdef7},
		{275, 0x123456789abcdef7},
	} {
		w := newWorld(t, cpus.Throughput, []uint32{mtspr(x.spr, 3), mfsprOf(4, x.spr), insnSC})
		c := w.cpu()
		c.R[3] = 0x123456789abcdef7
		if to(t, c); c.R[4] != x.want {
			t.Errorf("register %d: %#x, want %#x", x.spr, c.R[4], x.want)
		}
	}
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
		if slices.Max(c.Memory.Bytes(freePages+0x1000, 32)) != 0 {
			t.Errorf("%s: memory has changed", x.name)
		}
	}
}

// TestReset parks a CPU, which boots again like a new one.
func TestReset(t *testing.T) {
	w := newWorld(t, cpus.Throughput, []uint32{li(3, 1), insnSC})
	c := w.cpu()
	to(t, c)
	c.Reset()
	if e := c.Run(c.Now() + 1000); e.Reason != cpus.Halted {
		t.Errorf("reason %d", e.Reason)
	}
	c.Boot(testCode, testStack, 5, 6)
	if c.R[3] != 5 || c.R[4] != 6 || c.PC() != testCode {
		t.Error("arguments are lost")
	}
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
	if c.Arg(8) != 0x99 || c.SP() != testStack {
		t.Fatal("arguments on the stack")
	}
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

// TestNarrow runs in 32-bit mode: addresses wrap, and comparisons with zero, the carry, the overflow and
// the count look at the lower half.
func TestNarrow(t *testing.T) {
	for _, x := range []struct {
		name        string
		code        uint32
		r4, r5, ctr uint64
		r3, cr, ca  uint64
	}{
		{"add.", insnX(31, 3, 4, 5, 266) | 1, 0x7fffffff, 1, 0, 0x80000000, crLT, 0},
		{"addc", insnX(31, 3, 4, 5, 10), 0xffffffff, 1, 0, 0x100000000, 0, 1},
		{"addc without", insnX(31, 3, 4, 5, 10), 1 << 63, 1 << 63, 0, 0, 0, 0},
		{"and.", insnX(31, 4, 3, 5, 28) | 1, 1 << 40, 1 << 40, 0, 1 << 40, crEQ, 0},
		{"addo.", insnX(31, 3, 4, 5, 266+512) | 1, 0x7fffffff, 1, 0, 0x80000000, crLT | crSO, 0},
	} {
		_, c := userWorld(t, x.code, insnSC)
		c.setMSR(c.msr &^ msrSF)
		c.R[4], c.R[5], c.R[rCR0] = x.r4, x.r5, 0
		if v := to(t, c); v != vecSyscall || c.R[3] != x.r3 || c.R[rCR0] != x.cr || c.R[rCA] != x.ca {
			t.Errorf("%s: %s, r3 %#x cr0 %#x ca %d", x.name, vectorName(v), c.R[3], c.R[rCR0], c.R[rCA])
		}
		if c.msr&msrSF == 0 || c.srr[1]&msrSF != 0 {
			t.Errorf("%s: the handler runs with MSR %#x, SRR1 %#x", x.name, c.msr, c.srr[1])
		}
	}
	_, c := userWorld(t, insnX(31, 3, 4, 5, 23), branchIf(16, 0, 8), insnTrap, insnSC) // lwzx; bdnz
	c.setMSR(c.msr &^ msrSF)
	c.R[4], c.R[5], c.R[rCTR] = 0xffff_fff1_0000_0000, userData+0xf_0000_0000, 1<<32
	if v := to(t, c); v != vecSyscall || c.R[rCTR] != 1<<32-1 {
		t.Errorf("%s, DAR %#x, CTR %#x", vectorName(v), c.dar, c.R[rCTR])
	}
}
