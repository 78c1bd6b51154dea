package x86

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// neighbours makes CPUs that share memory, with caches so small that they lose lines all the time.
func neighbours(t *testing.T, n int, model string) (*world, []*CPU) {
	w := newWorld(t, ISA64(), model, nil)
	w.cfg.L1I = mmu.CacheConfig{Size: 512, Ways: 2, Line: 64, Latency: 180}
	w.cfg.L1D = w.cfg.L1I
	w.cfg.L2 = mmu.CacheConfig{Size: 1024, Ways: 4, Line: 64, Latency: 900}
	w.bus.Directory = mmu.NewDirectory(n)
	var all []*CPU
	for i := range n {
		c := w.isa.New(i, w.cfg, w.bus).(*CPU)
		c.Boot(w.code(testCode)+uint64(i)*0x1000, w.at(testStack)-uint64(i)*0x1000)
		all = append(all, c)
		w.bus.First = all[0]
	}
	return w, all
}

const sharedLines = 24

// scramble writes an endless loop that reads and writes words of a few shared lines in every way there is.
func scramble(w *world, c *CPU, rng *rand.Rand) {
	forms := [][]byte{
		{0x8b, 0x87},             // mov disp(%rdi),%eax
		{0x89, 0x87},             // mov %eax,disp(%rdi)
		{0xff, 0x87},             // incl disp(%rdi)
		{0xf0, 0xff, 0x87},       // lock incl disp(%rdi)
		{0x87, 0x87},             // xchg %eax,disp(%rdi)
		{0xf0, 0x0f, 0xb1, 0x8f}, // lock cmpxchg %ecx,disp(%rdi)
		{0x03, 0x87},             // add disp(%rdi),%eax
		{0xf0, 0x0f, 0xc1, 0x87}, // lock xadd %eax,disp(%rdi)
	}
	var code []byte
	for len(code) < 900 {
		code = append(code, forms[rng.IntN(len(forms))]...)
		code = binary.LittleEndian.AppendUint32(code, uint32(rng.IntN(64*sharedLines-4))) // some in two lines
	}
	code = append(code, 0xe9)
	code = binary.LittleEndian.AppendUint32(code, uint32(-(len(code) + 4)))
	w.mem.Write(c.PC()-w.image, code)
	c.R[rdi] = w.at(testData)
}

// TestCachesAgree holds the directory against what caches hold, while CPUs fight for lines.
func TestCachesAgree(t *testing.T) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		rng := rand.New(rand.NewPCG(3, 1))
		w, all := neighbours(t, 3, model)
		for _, c := range all {
			scramble(w, c, rng)
		}
		for range 3000 {
			c := all[rng.IntN(len(all))]
			if n, e := c.Steps(1+rng.IntN(20), 1<<60); e.Reason != cpus.Limit {
				t.Fatalf("%s: cpu %d stopped after %d steps: %+v", model, c.Num, n, e)
			}
			checkLines(t, c, all)
			if t.Failed() {
				return
			}
		}
		for _, c := range all {
			if c.Counts.Transfers < 500 || c.Counts.Upgrades < 20 || c.Counts.L2Misses < 500 {
				t.Errorf("%s: cpu %d: %d transfers, %d upgrades, %d misses: too little to see", model, c.Num,
					c.Counts.Transfers, c.Counts.Upgrades, c.Counts.L2Misses)
			}
		}
	}
}

// checkLines compares states and caches of the lines that are in use. ran is the CPU that ran last.
func checkLines(t *testing.T, ran *CPU, all []*CPU) {
	t.Helper()
	first := uint32((testData - directMap) >> 6)
	for _, c := range all {
		code := uint32((testCode - kernelMap) >> 6)
		for _, from := range []uint32{first, code, code + 64, code + 128} {
			for line := from; line < from+sharedLines; line++ {
				state := c.Bus.Directory.State(c.Num, line)
				held, writable, recent := c.Cached(line)
				if held != (state != mmu.Invalid) || writable && (state != mmu.Modified || !recent) {
					t.Errorf("after cpu %d ran: line %#x of cpu %d is %v, held %v, writable %v, recent %v",
						ran.Num, line, c.Num, state, held, writable, recent)
					return
				}
			}
		}
	}
}

// TestTranslationsAreEachCPUs changes a page table entry on one CPU: another keeps its translation
// until it drops it itself.
func TestTranslationsAreEachCPUs(t *testing.T) {
	w, all := neighbours(t, 2, cpus.Throughput)
	const page, a, b = 0x400000, 5 << 20, 6 << 20
	w.mapPage(page, a|pageWrite|ptePresent)
	w.mem.Store(binary.LittleEndian, a, 8, 1)
	w.mem.Store(binary.LittleEndian, b, 8, 2)
	// mov (%rax),%rbx; hlt; mov (%rax),%rcx; invlpg (%rax); mov (%rax),%rdx; hlt
	w.mem.Write(testCode-kernelMap, []byte{0x48, 0x8b, 0x18, 0xf4, 0x48, 0x8b, 0x08, 0x0f, 0x01, 0x38, 0x48, 0x8b, 0x10, 0xf4})
	// mov %rbx,(%rdi); mov (%rax),%rcx; hlt
	w.mem.Write(testCode-kernelMap+0x1000, []byte{0x48, 0x89, 0x1f, 0x48, 0x8b, 0x08, 0xf4})
	for _, c := range all {
		c.R[rax] = page
	}
	all[1].R[rdi], all[1].R[rbx] = w.at(directMap+w.pte(page)), b|pageWrite|ptePresent
	all[0].Run(1 << 40)
	all[1].Run(1 << 40)
	all[0].Halted = false
	all[0].Run(1 << 40)
	if r := &all[0].R; r[rbx] != 1 || r[rcx] != 1 || r[rdx] != 2 {
		t.Errorf("cpu 0 reads %d, %d after the change and %d after invlpg; want 1, 1, 2", r[rbx], r[rcx], r[rdx])
	}
	require.Equal(t, all[1].R[rcx], 2, "cpu 1, which had no translation, reads")
}

// TestVersionsChangeNothing rewrites code between a few contents while two CPUs execute it, one of them
// observed, and compares CPUs that share what they decode and go on where they left blocks with CPUs that
// decode for themselves and find every block anew.
func TestVersionsChangeNothing(t *testing.T) {
	var all [2][]*CPU
	var worlds [2]*world
	var seen [2]*spanned
	for i := range all {
		worlds[i], all[i] = neighbours(t, 2, cpus.Throughput)
		for _, c := range all[i] {
			c.R[rRIP] = testCode
		}
		c := all[i][0]
		seen[i] = &spanned{c: c, span: [2]uint64{testCode + 20, testCode + 40}, every: 3}
		c.ObserveCode(seen[i], [][2]uint64{seen[i].span}, false)
	}
	const size = 5 * 64
	parts := [][]byte{
		{0xff, 0xc0},                       // inc %eax
		{0x48, 0x81, 0xc1, 1, 2, 3, 4},     // add $0x4030201,%rcx
		{0x48, 0xc7, 0xc2, 5, 6, 7, 8},     // mov $0x8070605,%rdx
		{0x90}, {0xf7, 0xd0}, {0x66, 0x90}, // nop; not %eax; nop
		{0x81, 0xc3, 0xff, 0xc0, 0xff, 0xc0}, // add $...,%ebx, of which the end is inc
	}
	rng := rand.New(rand.NewPCG(8, 8))
	var versions [3][]byte
	for i := range versions {
		for len(versions[i]) < size {
			versions[i] = append(versions[i], parts[rng.IntN(len(parts))]...)
		}
		versions[i] = append(versions[i][:size], 0xe9) // jmp to the start
		versions[i] = binary.LittleEndian.AppendUint32(versions[i], 1<<32-size-5)
		versions[i][size-1], versions[i][size-2], versions[i][size-3] = 0x90, 0x90, 0x90
	}
	for _, w := range worlds {
		w.mem.Write(testCode-kernelMap, versions[0])
	}
	for step := range 20000 {
		if step%3 == 0 { // a piece of another version, often one that was there before
			from := rng.IntN(size - 8)
			v := versions[rng.IntN(len(versions))]
			for _, w := range worlds {
				w.mem.Write(testCode-kernelMap+uint64(from), v[from:from+1+step%8])
			}
		}
		who, n := rng.IntN(2), 1+rng.IntN(30)
		a, b := all[0][who], all[1][who]
		b.ForgetCode()
		an, ae := a.Steps(n, 1<<60)
		bn, be := b.Steps(n, 1<<60)
		if an != bn || ae != be || a.R != b.R || a.Now() != b.Now() {
			t.Fatalf("step %d, cpu %d: %d steps to %#x at %d, decoding alone %d to %#x at %d",
				step, who, an, a.PC(), a.Now(), bn, b.PC(), b.Now())
		}
		if ae.Reason != cpus.Limit && ae.Reason != cpus.Broken { // a torn instruction without a handler: begin again
			for _, c := range []*CPU{a, b} {
				c.Boot(testCode, testStack)
			}
		}
	}
	if len(seen[0].pcs) < 1000 || !slices.Equal(seen[0].pcs, seen[1].pcs) {
		t.Errorf("%d instructions were observed, decoding alone %d", len(seen[0].pcs), len(seen[1].pcs))
	}
}
