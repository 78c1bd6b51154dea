package ppc64

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/mmu"
)

const codedData = 0xd000_0000_0000_0000 // a mebibyte, which is more than the caches of a test's machine hold

// codedProgram is an endless loop over random instructions of which most have code of the host: arithmetic, loads and
// stores that meet each other in lines that come and go, branches that depend on data, calls, and branches to a register.
// r0 is where the data begin, r1 and r2 are addresses in them, r30 and r31 of two functions, and r29 counts an inner loop.
func codedProgram(r *rand.Rand) []uint32 {
	var code []uint32
	add := func(words ...uint32) { code = append(code, words...) }
	for range 3 + r.IntN(24) {
		start := len(code)
		for range 1 + r.IntN(8) {
			add(straightCode(r)...)
		}
		switch r.IntN(7) {
		case 6:
			add(getPC)
		case 0: // over what follows
			bo := []uint32{12, 4}[r.IntN(2)]
			add(branchIf(bo, r.Uint32N(32), 8))
			add(straightCode(r)...)
		case 1:
			add(addiTo(29, 29, 1), insnM(21, 29, 28, 0, 28, 31)|1, branchIf([]uint32{4, 12}[r.IntN(2)], 2, 4*(start-len(code)-2)))
		case 2:
			add(addiTo(26, 30, r.IntN(4)), mtspr(8, 26), 0x4e800021) // by a register, which has no code
		case 3:
			add(addiTo(27, 0, 1+r.IntN(6)), insnI(uint64(4*len(code)+4), 4*600)|1)
			add(addiTo(27, 27, -1), compareImm(0, 27, 0), branchIf(4, 2, -12))
		case 4: // to one of two places
			add(insnX(31, 29, 27, 28, 266), insnM(21, 29, 27, 0, 29, 29), addTo(27, 27, 31))
			add(addiTo(27, 27, 4*(len(code)+3)+r.IntN(4)), mtspr(9, 27), 0x4e800420, addiTo(29, 29, 1))
		case 5:
			add(addiTo(27, 0, 1+r.IntN(6)), mtspr(9, 27), addiTo(29, 29, 1), branchIf([]uint32{16, 18}[r.IntN(2)], 0, -4))
		}
	}
	strides := []int{0, 8, 136, 4104, 8192}
	add(addiTo(1, 1, strides[r.IntN(5)]), addiTo(2, 2, strides[r.IntN(5)]))
	add(insnM(21, 1, 1, 0, 12, 28), addTo(1, 1, 0), insnM(21, 2, 2, 0, 12, 28), addTo(2, 2, 0)) // somewhere in the data
	return append(code, insnI(uint64(4*len(code)), 0))
}

// straightCode is an instruction or a few that change r3 to r26 and data at r1 and r2.
func straightCode(r *rand.Rand) (code []uint32) {
	reg := func() uint32 { return 3 + r.Uint32N(24) }
	add := func(words ...uint32) { code = append(code, words...) }
	d := r.IntN(16) * 8
	if r.IntN(8) == 0 {
		d += r.IntN(8)
	}
	at := 1 + r.Uint32N(2)
	switch r.IntN(23) {
	case 0:
		add(addiTo(reg(), reg(), r.IntN(1<<16)-1<<15))
	case 1:
		add(insnD(15, reg(), r.Uint32N(2)*reg(), r.IntN(1<<16)))
	case 2:
		add(addTo(reg(), reg(), reg()) | r.Uint32N(2))
	case 3:
		add(insnX(31, reg(), reg(), reg(), 40)|r.Uint32N(2), insnX(31, reg(), reg(), 0, 104))
	case 4:
		add(insnX(31, reg(), reg(), reg(), 233), insnD(7, reg(), reg(), r.IntN(1<<16)))
	case 5:
		add(insnX(31, reg(), reg(), reg(), []uint32{28, 444, 316}[r.IntN(3)]) | r.Uint32N(2))
	case 6:
		add(insnD([]uint32{24, 25, 26, 27, 28, 29}[r.IntN(6)], reg(), reg(), r.IntN(1<<16)))
	case 7:
		add(insnX(31, reg(), reg(), 0, []uint32{954, 922, 986}[r.IntN(3)]) | r.Uint32N(2))
	case 8:
		add(insnM(21, reg(), reg(), r.Uint32N(32), r.Uint32N(32), r.Uint32N(32)) | r.Uint32N(2))
	case 9: // rldicl, rldicr and rldic with all counts
		add(30<<26 | reg()<<21 | reg()<<16 | r.Uint32N(1<<11)<<5 | r.Uint32N(3)<<2 | r.Uint32N(2)<<1 | r.Uint32N(2))
	case 10:
		bf := r.Uint32N(8)
		add(insnX(31, bf<<2|r.Uint32N(2), reg(), reg(), r.Uint32N(2)*32))
	case 11:
		add(insnD(10+r.Uint32N(2), r.Uint32N(8)<<2|r.Uint32N(2), reg(), r.IntN(1<<16)))
	case 12:
		add(insnD([]uint32{34, 40, 42, 32}[r.IntN(4)], reg(), at, d))
	case 13, 14:
		add(insnD(58, reg(), at, d&^3|[]int{0, 2}[r.IntN(2)]))
	case 15:
		add(insnD([]uint32{38, 44, 36}[r.IntN(3)], reg(), at, d))
	case 16, 17:
		add(insnD(62, reg(), at, d&^3))
	case 18: // the next lines, from where stores with update go on
		add(addiTo(1, 1, 136), insnD(62, reg(), 2, 4104|1), insnD(37, reg(), 2, 128))
	case 19:
		add(insnX(31, reg(), at, 28, []uint32{21, 23, 87, 149, 151}[r.IntN(5)]))
	case 20: // none has code
		add([]uint32{
			insnX(31, reg(), reg(), reg(), 457), insnX(31, reg(), 0, 0, 19), insnX(31, reg(), reg(), reg(), 10),
			insnX(31, reg(), reg(), reg(), 824), mfsprOf(reg(), 268), insnX(31, 0, 0, 1, 306),
			insnX(31, reg(), reg(), reg(), 778), insnX(31, reg(), 0, 1, 84), insnX(31, reg(), 0, 1, 214) | 1,
		}[r.IntN(9)])
	case 22: // the function that is called adds another number from now on
		add(insnM(21, 29, 26, 0, 26, 31), insnD(25, 26, 26, 14<<10|5<<5|5), insnD(36, 26, 30, 0))
	case 21:
		add(insnNop, mfsprOf(reg(), 8), mtspr(9, 31))
	}
	return code
}

// codedWorld puts a program between two functions that it calls.
func codedWorld(t *testing.T, seed uint64) *CPU {
	r := rand.New(rand.NewPCG(seed, 1))
	code := codedProgram(r)
	w := newWorld(t, cpus.Window, nil, mmu.Mapping{VA: codedData, PA: 0x200000, Size: 1 << 20, Writable: true})
	if seed%2 == 0 {
		anyShape(r, seed%4 == 0)(&w.cfg)
	}
	w.cfg.L1D.Size, w.cfg.L1D.Ways = 4096, 2
	w.cfg.L2.Size, w.cfg.L2.Ways = 3*32<<10, 6
	if seed%3 == 0 {
		w.cfg.L1I.Size, w.cfg.L1I.Ways = 512, 1
	}
	if seed%5 != 0 {
		w.cfg.L3 = w.cfg.L2
		w.cfg.L3.Size, w.cfg.L3.Latency = 7*w.cfg.L2.Size, 40*clock.PerCycle
	}
	if errs := w.cfg.Check(ISA()); errs != nil {
		t.Fatal(errs)
	}
	w.bus.Native = [2]uint64{1, 1}
	w.words(testCode-kernelMap, code...)
	w.words(testCode-kernelMap+4*600, addiTo(5, 5, 1), insnX(31, 6, 7, 5, 316), insnBlr)
	for v := uint64(0x100); v < 0x1000; v += 0x80 { // whatever is raised goes on behind it
		w.words(v, mfsprOf(20, 26), addiTo(20, 20, 4), mtspr(26, 20), insnRfid)
	}
	c := w.cpu()
	for i := range 28 {
		c.R[i] = r.Uint64() >> r.IntN(64)
	}
	c.R[0], c.R[1], c.R[2], c.R[28], c.R[29], c.R[30] = codedData, codedData, codedData+64, 0, 0, testCode+4*600
	c.R[31], c.R[rXER] = testCode, r.Uint64N(2)*xerSO
	return c
}

// TestCodeOfTheHost executes random programs by functions and by code of the host, in turns of all lengths: registers,
// memory, time, counters and stalls are the same behind each turn.
func TestCodeOfTheHost(t *testing.T) {
	built, memo := host.Code, host.Memo
	defer func() { host.Code, host.Memo = built, memo }()
	for seed := range uint64(200) {
		host.Memo.Blocks = []int{memo.Blocks, 0, 40}[seed%3]
		host.Code.Room = []int{built.Room, 1 << 16, 1 << 14}[seed/3%3]
		run := func(off bool, early uint8) (all []string, c *CPU) {
			host.Code.Off = off
			host.Code.Blocks = early
			c = codedWorld(t, seed)
			r := rand.New(rand.NewPCG(seed, 2))
			for range 60 {
				c.Run(c.Now() + clock.PerCycle*clock.Ticks(1+r.IntN(1<<r.IntN(15))))
				all = append(all, fmt.Sprintf("%d at %#x: %x %+v", c.Now(), c.PC(), c.R, *c.Counters()))
			}
			return all, c
		}
		want, plain := run(true, 0)
		for _, early := range []uint8{0, 3} {
			got, c := run(false, early)
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("seed %d, early %d, turn %d:\n%s by functions,\n%s by code", seed, early, i, want[i], got[i])
				}
			}
			if d := unlike(plain, c); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

// TestCodeOfTheHostAndTranslations calls a function again and again whose segment leads to another one every 50 calls: code of
// the host goes on where the address leads then.
func TestCodeOfTheHostAndTranslations(t *testing.T) {
	const one, two = 0xd000_0000_0000_0000, 0xd000_0000_2000_0000
	w := newWorld(t, cpus.Window, nil,
		mmu.Mapping{VA: one, PA: 0x300000, Size: 0x1000, Exec: true}, mmu.Mapping{VA: two, PA: 0x301000, Size: 0x1000, Exec: true})
	w.words(0x300000, addiTo(5, 5, 1), insnBlr)
	w.words(0x301000, addiTo(5, 5, 100), insnBlr)
	w.words(testCode-kernelMap,
		addiTo(6, 0, 50), // calls, which come back behind the branch
		addiTo(10, 31, 4*5), mtspr(8, 10), mtspr(9, 9), 0x4e800420,
		addiTo(6, 6, -1), compareImm(0, 6, 0), branchIf(4, 2, -24),
		insnX(31, 11, 0, 12, 402), insnX(31, 11, 11, 13, 316), addiTo(7, 7, -1), compareImm(0, 7, 0), branchIf(4, 2, -48), insnSC)
	c := w.cpu()
	c.R[13] = 0
	c.R[5], c.R[7], c.R[9], c.R[31] = 0, 20, one, testCode
	for i := range c.slb {
		if s := &c.slb[i]; s.covers(one) {
			c.R[12], c.R[13] = s.esid|uint64(i), c.R[13]^s.vsid
		} else if s.covers(two) {
			c.R[11], c.R[13] = s.vsid, c.R[13]^s.vsid
		}
	}
	c.Run(clock.FromCycles(1e6))
	if c.PC() != vecSyscall || c.R[5] != 10*50*101 {
		t.Errorf("at %s, the functions have added up to %d, want %d", vectorName(c.PC()), c.R[5], 10*50*101)
	}
}

// TestEveryCodeIsExecuted wants an instruction for each code, so that none stands for a function which no instruction has
// any more.
func TestEveryCodeIsExecuted(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	_, c := userWorld(t)
	found := map[uint8]bool{0: true}
	for range 300 {
		for _, x := range append(codedProgram(r), insnBlr) {
			in, _ := c.Decode(wordBytes([]uint32{x}), userCode)
			found[in.Operands.code] = true
		}
	}
	for i := range codes {
		if !found[uint8(i)] {
			t.Errorf("code %d: no instruction has it", i)
		}
	}
}
