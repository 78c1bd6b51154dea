package ppc64

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// slow is the latency of every instruction in TestDependences, in cycles.
const slow = 1000

// pairTime executes instructions whose latency is slow, and returns how long they take in slow latencies.
func pairTime(t *testing.T, code []uint32) int64 {
	t.Helper()
	w := newWorld(t, cpus.Window, append(code, insnSC))
	for _, n := range ISA().Classes {
		w.cfg.Classes[n] = cpus.Cost{Latency: slow * clock.PerCycle}
	}
	w.cfg.Classes["syscall"] = cpus.Cost{}
	w.cfg.Memory = w.cfg.L2.Latency // misses are short beside a latency
	w.cfg.StoreBuffer = 1024        // no store holds what follows it up
	c := w.cpu()
	c.R[3], c.R[4], c.R[5] = testStack, testStack+64, testCode+8 // where a branch of the second goes
	c.R[rLR], c.R[rCTR] = testCode+8, testCode+8
	if v := to(t, c); v != vecSyscall {
		t.Fatal(vectorName(v))
	}
	return c.Now().Cycles() / slow
}

// TestDependences executes pairs of instructions, of which the second waits for the first or does not.
func TestDependences(t *testing.T) {
	x31 := func(rt, ra, rb, xo uint32) uint32 { return insnX(31, rt, ra, rb, xo) }
	cmp := func(bf uint32) uint32 { return insnX(31, bf<<2|1, 3, 4, 0) }
	onBit := func(bi uint32) uint32 { return branchIf(12, bi, 4) }
	for _, x := range []struct {
		name          string
		first, second uint32
		waits         bool
	}{
		{"a register", addTo(6, 3, 4), addTo(7, 6, 3), true},
		{"another register", addTo(6, 3, 4), addTo(7, 3, 4), false},
		{"a result that is written again", addTo(6, 3, 4), addTo(6, 3, 4), false},
		{"compare and branch", cmp(1), onBit(6), true},
		{"another field", cmp(1), onBit(2), false},
		{"record and branch", addTo(6, 3, 4) | 1, onBit(2), true},
		{"andi. and branch", insnD(28, 3, 6, 1), onBit(2), true},
		{"no record", addTo(6, 3, 4), onBit(2), false},
		{"carry", x31(6, 3, 4, 10), x31(7, 3, 4, 138), true},
		{"carry of a shift", x31(3, 6, 2, 824), x31(7, 3, 0, 202), true},
		{"no carry", addTo(6, 3, 4), x31(7, 3, 4, 138), false},
		{"carry that is not read", x31(6, 3, 4, 10), addTo(7, 3, 4), false},
		{"summary overflow", addTo(6, 3, 4) | 1<<10, cmp(1), true},
		{"count register", mtspr(9, 5), 0x4e800420, true},
		{"count register and bdnz", mtspr(9, 5), branchIf(16, 0, 4), true},
		{"link register", mtspr(8, 5), insnBlr, true},
		{"the other one", mtspr(9, 5), insnBlr, false},
		{"call and mflr", 18<<26 | 4 | 1, mfsprOf(6, 8), true},
		{"load and use", ldAt(6, 3, 0), addTo(7, 6, 3), true},
		{"load and address", insnD(32, 6, 3, 0), insnX(31, 7, 3, 6, 23), true},
		{"load and stored value", ldAt(6, 3, 0), stdAt(6, 4, 0), true},
		{"update and address", insnD(37, 6, 3, 8), insnD(32, 7, 3, 0), true},
		{"loaded update and address", insnD(33, 6, 3, 8), addTo(7, 3, 3), true},
		{"no update", insnD(36, 6, 3, 8), addTo(7, 3, 3), false},
		{"insert keeps", addTo(6, 3, 4), insnM(20, 3, 6, 1, 2, 3), true},
		{"mask does not keep", addTo(6, 3, 4), insnM(21, 3, 6, 1, 2, 3), false},
		{"rotation by a register", addTo(6, 3, 4), insnM(23, 3, 7, 6, 0, 31), true},
		{"logic on bits", cmp(1), insnX(19, 0, 5, 9, 257), true},
		{"logic and branch", insnX(19, 6, 9, 10, 257), onBit(5), true},
		{"mcrf", cmp(1), insnX(19, 2<<2, 1<<2, 0, 0), true},
		{"mfcr", cmp(0), insnX(31, 6, 0, 0, 19), true},
		{"mfocrf", cmp(2), 31<<26 | 6<<21 | 1<<20 | 1<<5<<12 | 19<<1, true},
		{"mfocrf of another", cmp(2), 31<<26 | 6<<21 | 1<<20 | 1<<6<<12 | 19<<1, false},
		{"mtcrf of two, the first", 31<<26 | 3<<21 | 0x28<<12 | 144<<1, onBit(9), true},
		{"mtcrf of two, the second", 31<<26 | 3<<21 | 0x28<<12 | 144<<1, onBit(17), true},
		{"xer", mtspr(1, 3), mfsprOf(6, 1), true},
		{"store conditional", insnX(31, 6, 0, 3, 150) | 1, onBit(2), true},
		{"load and reserve", insnX(31, 6, 0, 3, 20), addTo(7, 6, 6), true},
		{"trap", addTo(6, 3, 4), insnX(31, 0, 6, 3, 4), true},
	} {
		want := int64(1)
		if x.waits {
			want = 2
		}
		got := pairTime(t, []uint32{x.first, x.second})
		require.That(t, got == want, "%s: %#x %#x take %d latencies, want %d", x.name, x.first, x.second, got, want)
	}
}

// TestClassesAreUsed finds an instruction of every class, so that no machine description prices what there is
// not.
func TestClassesAreUsed(t *testing.T) {
	seen := map[uint8]bool{}
	see := func(word uint32) {
		_, op := decode(word, testCode)
		seen[op.Class] = true
	}
	for opcode := range uint32(64) {
		for xo := range uint32(2048) {
			see(opcode<<26 | 3<<21 | 4<<16 | 5<<11 | xo)
		}
	}
	for spr := range uint32(1024) {
		see(mtspr(spr, 3))
		see(mfsprOf(3, spr))
	}
	for _, word := range []uint32{
		insnNop, insnX(19, 1, 2, 3, 257), 31<<26 | 1<<20 | 1<<12 | 19<<1, 31<<26 | 3<<12 | 144<<1, 31<<26 | 1<<12 | 144<<1,
		insnX(31, 1, 0, 0, 598), insnX(31, 3, 0, 0, 178), insnX(31, 3, 1, 0, 178), insnD(16, 20, 0, 4), insnSPR(3, 268, 371),
		insnX(19, 1, 1, 3, 257), 0x4e800420,
	} {
		see(word)
	}
	for i, name := range classNames {
		require.That(t, name != "" && seen[uint8(i)], "class %d, %q, has no instruction", i, name)
	}
}

// TestRegisters lists what reports show.
func TestRegisters(t *testing.T) {
	c := newWorld(t, cpus.Throughput, nil).cpu()
	c.R[31], c.R[rCR0], c.R[rCA] = 7, crGT, 1
	have := map[string]uint64{}
	for _, r := range c.Registers() {
		have[r.Name] = r.Value
	}
	for name, want := range map[string]uint64{
		"r1": testStack, "r31": 7, "pc": testCode, "cr": 0x40000000, "xer": xerCA, "msr": c.msr,
	} {
		require.Equal(t, have[name], want, "%s", name)
	}
	require.That(t, len(have) == 42, "%d registers", len(have))
}
