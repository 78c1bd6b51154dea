package ppc64

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestHash fills a small table with random pages of both sizes until groups overflow, and finds every one by
// a CPU, at the address where it was put.
func TestHash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := mmu.NewMemory(worldRAM)
	b := tableBuilder{m: m, sdr1: worldTables}
	type mapped struct{ va, pa uint64 }
	var all []mapped
	secondary := 0
	for i := range 12000 {
		seg := r.Uint64N(40)
		large := seg%4 == 0
		page := uint64(1) << basePage
		if large {
			page = 1 << largePage
		}
		va := seg<<segment | r.Uint64N(1<<segment/page)*page
		s := require.Must(b.segment(va, large))(t)
		w := hashWalk{m: m, sdr1: b.sdr1, s: s, ea: va}
		if _, found := w.find(); found {
			continue
		}
		pa := uint64(i) * page & 0x3ff_ffff_f000
		if !b.insert(&w, pa|2) {
			continue
		}
		at, _ := w.find()
		secondary += int(m.Load(binary.BigEndian, at, 8) & pteSecondary / pteSecondary)
		all = append(all, mapped{va, pa &^ (page - 1)})
	}
	require.That(t, secondary >= 100, "only %d entries are in their secondary group", secondary)
	cfg := newWorld(t, cpus.Throughput, nil).cfg
	b.list(worldTables + group<<groupsMin)
	c := build(ISA(), 0, &cfg, cpus.Bus{Memory: m, Phase: func(uint64) uint8 { return 0 }, Root: b.sdr1})
	for _, x := range all {
		off := r.Uint64N(1 << basePage)
		if pa, ok := c.DataAddress(x.va+off, true); !ok || pa != x.pa+off {
			t.Fatalf("%#x is at %#x, %v, want %#x", x.va+off, pa, ok, x.pa+off)
		}
		if pa, ok := c.Translate(x.va + off); !ok || pa != x.pa+off {
			t.Fatalf("Translate: %#x is at %#x, %v, want %#x", x.va+off, pa, ok, x.pa+off)
		}
		c.setMSR(c.msr &^ (msrIR | msrDR)) // in the middle of an interrupt
		pa, ok := c.Translate(x.va + off)
		require.Need(t, ok && pa == x.pa+off, "Translate in real mode: %#x is at %#x, %v, want %#x", x.va+off, pa, ok, x.pa+off)
		c.setMSR(c.msr | msrIR | msrDR)
	}
	t.Logf("%d pages, %d in secondary groups", len(all), secondary)
}

// TestTablesRefuse gives mappings that cannot be.
func TestTablesRefuse(t *testing.T) {
	m := func() *mmu.Memory { return mmu.NewMemory(worldRAM) }
	big := mmu.Mapping{VA: 0x20000000, Size: 16 << 20, Large: true}
	small, next := mmu.Mapping{VA: 0x21000000, Size: 0x1000}, mmu.Mapping{VA: 0x21001000, Size: 0x1000}
	both := mmu.Mapping{VA: small.VA, Size: 0x2000}
	var many []mmu.Mapping
	for i := range uint64(65) {
		many = append(many, mmu.Mapping{VA: i << segment, Size: 0x1000})
	}
	for name, maps := range map[string][]mmu.Mapping{
		"both sizes": {big, small}, "twice": {small, small}, "twice at the end": {both, next}, "twice at the start": {small, both}, "twice around": {next, both},
		"segments":  many,
		"alignment": {{VA: 0x21000800, Size: 0x1000}}, "alignment of large pages": {{VA: 0x21000000, PA: 0x1000, Size: 1, Large: true}},
	} {
		_, err := buildTables(m(), worldTables, maps)
		require.That(t, err != nil, "%s: accepted", name)
	}
	if _, err := buildTables(m(), worldRAM-0x1000, []mmu.Mapping{small}); err == nil {
		t.Error("tables outside of RAM are accepted")
	}
	for _, maps := range [][]mmu.Mapping{{big}, {small, next}, {next, small}} {
		require.NoError(t, require.Err(buildTables(m(), worldTables, maps)))
	}
}

// TestSLB writes, reads and invalidates entries.
func TestSLB(t *testing.T) {
	slbmte := func(rs, rb uint32) uint32 { return insnX(31, rs, 0, rb, 402) }
	slbmfee := func(rt, rb uint32) uint32 { return insnX(31, rt, 0, rb, 915) }
	slbmfev := func(rt, rb uint32) uint32 { return insnX(31, rt, 0, rb, 851) }
	w := newWorld(t, cpus.Throughput, []uint32{
		slbmte(4, 5), slbmfee(6, 7), slbmfev(8, 7), insnX(31, 0, 0, 5, 434), slbmfee(9, 7), insnX(31, 0, 0, 0, 498), slbmfee(10, 11), insnSC,
	})
	c := w.cpu()
	kernel := c.slb[0]
	c.R[4], c.R[5], c.R[7], c.R[11] = 0x123<<12|slbKp|slbL, 0x5_3000_0000|slbValid|9, 9, 0
	if v := to(t, c); v != vecSyscall {
		t.Fatal(vectorName(v))
	}
	if c.R[6] != 0x5_3000_0000|slbValid || c.R[8] != c.R[4] {
		t.Errorf("slbmfee %#x, slbmfev %#x", c.R[6], c.R[8])
	}
	require.That(t, c.R[9]&slbValid == 0, "slbie left %#x", c.R[9])
	require.Equal(t, c.R[10], kernel.esid, "slbia made entry 0")
	c.setMSR(userMSR)
	c.slb[3] = slbEntry{userNone | slbValid, 0}
	c.Boot(testCode, testStack)
	c.setMSR(userMSR &^ msrPR)
	for range 5 {
		c.Steps(1, 1<<60)
	}
	require.That(t, c.slb[3].esid&slbValid != 0, "slbie took an entry that it does not name")
	if c.Steps(1, 1<<60); c.slb[3].esid&slbValid != 0 {
		t.Error("slbia left an entry")
	}
}

// TestTLB changes an entry of the page table: the old translation goes on until tlbie.
func TestTLB(t *testing.T) {
	for _, wide := range []bool{false, true} {
		w, c := userWorld(t)
		s := c.findSegment(userData)
		walk := hashWalk{m: c.Memory, sdr1: c.sdr1, s: s, ea: userData}
		at, _ := walk.find()
		other := w.cpu()
		other.setMSR(userMSR)
		pa := func(c *CPU) uint64 { v, _ := c.DataAddress(userData, true); return v }
		old := []uint64{pa(c), pa(other)}
		c.Memory.Store(binary.BigEndian, at+8, 8, freePages+0x5000|2)
		require.Need(t, pa(c) == old[0] && pa(other) == old[1], "a TLB entry does not hold")
		c.machine.wide = wide
		c.setMSR(userMSR &^ msrPR)
		tlbie(c, &inst{b: 3, a: rZero, dst: rSink})
		if c.R[3] = s.virtual(userData); pa(c) != old[0] {
			t.Log("a page that was not named is gone, as it may")
		}
		tlbiel(c, &inst{b: 3})
		require.Equal(t, pa(c), freePages+0x5000, "wide %v: tlbiel leaves", wide)
		require.That(t, wide || pa(other) == old[1], "tlbiel reaches another CPU")
		if tlbie(c, &inst{b: 3}); pa(other) != freePages+0x5000 {
			t.Errorf("wide %v: tlbie leaves %#x", wide, pa(other))
		}
	}
}

// TestRealMode loads and executes at real addresses; the upper four bits of an address do not count.
func TestRealMode(t *testing.T) {
	c := newWorld(t, cpus.Throughput, []uint32{insnD(32, 4, 3, 0), insnSC}).cpu()
	c.setMSR(msrSF | msrME)
	c.R[rPC] = testCode - kernelMap
	c.R[3] = testCode
	if v := to(t, c); v != vecSyscall || c.R[4] != uint64(insnD(32, 4, 3, 0)) || c.srr[0] != testCode-kernelMap+8 {
		t.Errorf("%s, r4 %#x", vectorName(v), c.R[4])
	}
	c.R[rPC] = worldRAM + 0x1000
	c.Bus.Native = [2]uint64{vecInst, vecInst + 4}
	if v := to(t, c); v != vecInst {
		t.Error(vectorName(v))
	}
}

// pair makes two CPUs in user mode with coherent caches. Where each is not 0 there is no cost model, and instructions take it.
func pair(t *testing.T, model string, each clock.Ticks) (*world, [2]*CPU) {
	w := newWorld(t, model, nil, userMaps()...)
	w.bus.Directory = mmu.NewDirectory(2)
	var all [2]*CPU
	for i := range all {
		all[i] = w.cpu()
		all[i].Untimed(each, 1<<60)
		all[i].setMSR(userMSR)
		all[i].R[rPC] = userCode
		all[i].R[3] = userData
	}
	return w, all
}

// TestReservationsOfTwo breaks a reservation by what another CPU does between load and store.
func TestReservationsOfTwo(t *testing.T) {
	lwarx, stwcx := insnX(31, 5, 0, 3, 20), insnX(31, 6, 0, 3, 150)|1
	for i, x := range []struct {
		between []uint32
		keeps   bool
	}{
		{nil, true},
		{[]uint32{insnD(36, 6, 3, 0)}, false},               // a store to it
		{[]uint32{insnD(38, 6, 3, 127)}, false},             // to its line
		{[]uint32{insnD(36, 6, 3, 128)}, true},              // to the next one
		{[]uint32{insnD(32, 6, 3, 0)}, true},                // a load
		{[]uint32{lwarx}, true},                             // another reservation
		{[]uint32{lwarx, stwcx}, false},                     // which is used
		{[]uint32{insnX(31, 0, 0, 3, 1014)}, false},         // dcbz
		{[]uint32{insnX(31, 6, 0, 3, 214) | 1}, true},       // a store that is not made
		{[]uint32{lwarx, stwcx, insnD(32, 6, 3, 0)}, false}, // the line goes back and forth
	} {
		for _, each := range []clock.Ticks{0, clock.PerCycle} {
			t.Run(fmt.Sprint(i, each), func(t *testing.T) {
				w, all := pair(t, cpus.Throughput, each)
				w.words(freePages, lwarx, insnNop, stwcx, insnSC)
				w.words(freePages+0x100, append(x.between, insnSC)...)
				all[0].Steps(2, 1<<60)
				all[1].R[rPC] = userCode + 0x100
				to(t, all[1])
				if to(t, all[0]); (all[0].R[rCR0]&crEQ != 0) != x.keeps {
					t.Errorf("CR0 %#x", all[0].R[rCR0])
				}
			})
		}
	}
}

// TestCountersOfTwo increments a number on two CPUs in turns of random length: none is lost.
func TestCountersOfTwo(t *testing.T) {
	for i, model := range []string{cpus.Throughput, cpus.Window, cpus.Window} { // the last one without it
		r := rand.New(rand.NewPCG(5, 6))
		w, all := pair(t, model, clock.Ticks(i/2))
		w.words(freePages,
			insnX(31, 5, 0, 3, 20), addiTo(5, 5, 1), insnX(31, 5, 0, 3, 150)|1, branchIf(4, 2, -12), // loop while it fails
			addiTo(7, 7, -1), compareImm(0, 7, 0), branchIf(4, 2, -24), insnSC)
		for _, c := range all {
			c.R[7] = 500
		}
		failed := 0
		for all[0].PC() != vecSyscall || all[1].PC() != vecSyscall {
			c := all[r.IntN(2)]
			c.Steps(1+r.IntN(5), 1<<60)
			if c.PC() == userCode+12 && c.R[rCR0]&crEQ == 0 {
				failed++
			}
		}
		n := w.mem.Load(binary.BigEndian, freePages+0x1000, 4)
		require.That(t, n == 1000 && failed != 0, "%s: counted to %d, %d stores failed", model, n, failed)
	}
}

// TestSecondTLB loads from more pages than the TLB for data holds, again and again. Each load waits for its
// translation: for a walk, or for the TLB behind.
func TestSecondTLB(t *testing.T) {
	const pages, latency = 8, 500 * clock.PerCycle
	for _, behind := range []bool{false, true} {
		w := newWorld(t, cpus.Window, []uint32{
			insnX(31, 5, 3, 4, 23), addTo(3, 3, 5), addiTo(3, 3, 0x1000), branchIf(16, 0, -12), insnSC,
		}, mmu.Mapping{VA: userData, PA: freePages, Size: pages << 12, User: true, Writable: true})
		w.cfg.DTLB = mmu.TLBConfig{Entries: 4, Ways: 4, LargeEntries: 4, LargeWays: 4}
		if behind {
			w.cfg.TLB2 = cpus.TLB2{TLBConfig: mmu.TLBConfig{Entries: 64, Ways: 4, LargeEntries: 4, LargeWays: 4}, Latency: latency}
		}
		if errs := w.cfg.Check(ISA()); errs != nil {
			t.Fatal(errs)
		}
		c := w.cpu()
		var last clock.Ticks
		for range 3 {
			c.Boot(testCode, testStack)
			c.R[3], c.R[4], c.R[rCTR] = userData, 0, pages
			start, walks := c.Now(), c.Counters().DTLBMisses
			if v := to(t, c); v != vecSyscall {
				t.Fatal(vectorName(v))
			}
			if last = c.Now() - start; !behind && c.Counters().DTLBMisses-walks != pages {
				t.Errorf("%d walks", c.Counters().DTLBMisses-walks)
			}
			c.setMSR(msrSF | msrME | msrIR | msrDR | msrRI)
		}
		if behind && (c.Counters().DTLBMisses != pages || last < pages*latency || last > (pages+1)*latency) {
			t.Errorf("%d walks, and %d cycles for %d translations of %d", c.Counters().DTLBMisses, last.Cycles(), pages, clock.Ticks(latency).Cycles())
		}
	}
}
