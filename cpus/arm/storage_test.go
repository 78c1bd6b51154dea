package arm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// userMaps are pages of user mode.
func userMaps() []mmu.Mapping {
	user := func(va, pa, size uint64, writable, exec bool) mmu.Mapping {
		return mmu.Mapping{VA: va, PA: freePages + pa, Size: size, User: true, Writable: writable, Exec: exec}
	}
	return []mmu.Mapping{
		user(userCode, 0, 0x1000, true, true), user(userData, 0x1000, 0x1000, true, false), user(userConst, 0x2000, 0x1000, false, false),
	}
}

// TestTablesRefuse gives mappings that cannot be.
func TestTablesRefuse(t *testing.T) {
	m := func() *mmu.Memory { return mmu.NewMemory(worldRAM) }
	big := mmu.Mapping{VA: 0x20000000, Size: 1 << 20, Large: true}
	small := mmu.Mapping{VA: 0x20001000, Size: 0x1000}
	for want, maps := range map[string][]mmu.Mapping{
		"0x20001000 is mapped twice": {big, small},
		"0x20000000 is mapped twice": {small, big},
		"0x20100000 is mapped twice": {big, {VA: 0x20100000, Size: 0x1000}, {VA: 0x20100000, Size: 0x1000}},
		"mapping of 0x21000800 to 0x0: addresses of its pages are multiples of 0x1000":      {{VA: 0x21000800, Size: 0x1000}},
		"mapping of 0x21000000 to 0x800: addresses of its pages are multiples of 0x1000":    {{VA: 0x21000000, PA: 0x800, Size: 0x1000}},
		"mapping of 0x21000000 to 0x1000: addresses of its pages are multiples of 0x100000": {{VA: 0x21000000, PA: 0x1000, Size: 1, Large: true}},
		"mapping of 0xfffff000: 0x2000 bytes reach behind the address space":                {{VA: 0xfffff000, Size: 0x2000}},
		"mapping of 0x1000: 0x2000 bytes reach behind the address space":                    {{VA: 0x1000, PA: 0xfffff000, Size: 0x2000}},
	} {
		_, err := buildTables(m(), worldTables, maps)
		require.That(t, err != nil && err.Error() == want, "%v: %v, want %s", maps, err, want)
	}
	used := m()
	for at := uint64(worldTables); at < worldTables+2*firstBytes; at += 8 {
		used.Store(binary.LittleEndian, at, 8, 1<<64-1)
	}
	_, err := buildTables(used, worldTables, []mmu.Mapping{big, small})
	require.Error(t, err, "0x20001000 is mapped twice", "in memory that is in use")
	for va := range uint64(1 << 12) {
		first := used.Load(binary.LittleEndian, worldTables+va<<2, 4)
		require.Need(t, (first != 0) == (va == 0x200), "in memory that is in use %#x is mapped by %#x", va<<section, first)
	}
	if _, err := buildTables(m(), worldRAM-0x1000, []mmu.Mapping{big}); err == nil {
		t.Error("tables outside of RAM are accepted")
	}
	if _, err := buildTables(m(), worldRAM-firstBytes, []mmu.Mapping{small}); err == nil {
		t.Error("a second table outside of RAM is accepted")
	}
}

// secondEntry is the address of the second-level entry of a page.
func secondEntry(c *CPU, va uint64) uint64 {
	first := c.Memory.Load(binary.LittleEndian, c.Bus.Root+va>>section<<2, 4)
	return first&^(secondBytes-1) + va>>smallPage&0xff<<2
}

// TestTLB changes entries of the page table: old translations go on until they are dropped, by each of the
// operations on this CPU, on all of them, or in another address space.
func TestTLB(t *testing.T) {
	for _, x := range []struct {
		name       string
		crm, op2   uint32
		v          uint32
		own, other bool // dropped
	}{
		{"all", 7, 0, 0, true, false},
		{"data alone", 6, 0, 0, true, false},
		{"a page", 7, 1, userData | 5, true, false},
		{"a page of another space", 7, 1, userData | 6, false, false},
		{"another page", 7, 1, userConst | 5, false, false},
		{"a space", 7, 2, 5, true, false},
		{"another space", 7, 2, 6, false, false},
		{"a page of all spaces", 7, 3, userData, true, false},
		{"all, everywhere", 3, 0, 0, true, true},
		{"a page, everywhere", 3, 1, userData | 5, true, true},
		{"a space, everywhere", 3, 2, 5, true, true},
		{"a page of all spaces, everywhere", 3, 3, userData, true, true},
	} {
		w := newWorld(t, cpus.Throughput, nil, userMaps()...)
		all := [2]*CPU{w.cpu(), w.cpu()}
		pa := func(c *CPU) uint64 { v, _ := c.DataAddress(userData, true); return v }
		for _, c := range all {
			c.setContextID(5)
			pa(c)
		}
		c := all[0]
		w.mem.Store(binary.LittleEndian, secondEntry(c, userData), 4, freePages+0x5000|entryPage|3<<pageAP|pageLocal)
		require.Need(t, pa(c) == freePages+0x1000 && pa(all[1]) == freePages+0x1000, "a TLB entry does not hold")
		in, _ := decode(mcr(8, 0, x.crm, x.op2, 0), 0)
		c.R[0] = uint64(x.v)
		in.Exec(c, &in.Operands)
		for i, want := range []bool{x.own, x.other} {
			if got := pa(all[i]) == freePages+0x5000; got != want {
				t.Errorf("%s: CPU %d: dropped %v", x.name, i, got)
			}
		}
	}
}

// TestSpaces changes the address space: local pages are found in their own alone, global ones in all.
func TestSpaces(t *testing.T) {
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	c := w.cpu()
	pa := func(va uint64) uint64 { v, _ := c.DataAddress(va, false); return v }
	c.setContextID(1)
	pa(userData)
	pa(testStack)
	w.mem.Store(binary.LittleEndian, secondEntry(c, userData), 4, freePages+0x5000|entryPage|3<<pageAP|pageLocal)
	w.mem.Store(binary.LittleEndian, secondEntry(c, testStack), 4, 0x7000|entryPage|1<<pageAP)
	c.setContextID(2 | 7<<8)
	if pa(userData) != freePages+0x5000 || pa(testStack) != testStack-kernelMap {
		t.Errorf("in another space: %#x, %#x", pa(userData), pa(testStack))
	}
	c.setContextID(1)
	require.Equal(t, pa(userData), freePages+0x1000, "back")
}

// TestDropSpace drops the pages of an address space: global ones stay.
func TestDropSpace(t *testing.T) {
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	c := w.cpu()
	c.setContextID(1)
	before, _ := c.DataAddress(testStack, false)
	w.mem.Store(binary.LittleEndian, secondEntry(c, testStack), 4, 0x7000|entryPage|1<<pageAP)
	c.dropSpace(1)
	if pa, _ := c.DataAddress(testStack, false); pa != before {
		t.Errorf("a global page is dropped: %#x", pa)
	}
	c.dropPageOfAll(uint32(testStack))
	if pa, _ := c.DataAddress(testStack, false); pa == before {
		t.Error("a global page stays when it is dropped by its address")
	}
}

// TestMultipleFaults lets every load and store of several registers fault at its second page, and at an address
// that is no multiple of four: no register, no word of memory and no status changes.
func TestMultipleFaults(t *testing.T) {
	n := 0
	for _, r := range multipleRows() {
		r.parse()
		for _, far := range []uint64{0, 2} { // 2: not aligned
			word := always32 | r.value | 3<<16 | 0x00f0&^r.mask
			if strings.Contains(r.name, "return") {
				word |= 1 << pcNumber
			}
			in, op := decode(word, 0)
			if op.Class == clUndefined {
				t.Fatalf("%s: %#x is undefined", r.name, word)
			}
			at := uint64(userData + 0x1000) // mapped below, read-only above
			if op.Flags&engine.Loads != 0 {
				at = userConst + 0x1000 // mapped below alone
			}
			// Two of the words lie below the border.
			c := newWorld(t, cpus.Window, []uint32{word}, userMaps()...).cpu()
			c.R[3] = at - 8 - words(in.Operands.sh) + far
			for i := range uint64(4) {
				c.R[4+i] = 0x44 + i
			}
			before, psr, sequence := c.R, c.cpsr(), c.Counters().Instructions
			memory := bytes.Clone(c.Memory.Bytes(freePages, 0x4000))
			if v := to(t, c); v != vecDataAbort {
				t.Fatalf("%s: %s", r.name, vectorNames[v])
			}
			if far == 0 && uint64(c.dfar) != at {
				t.Errorf("%s: DFAR is %#x, want %#x", r.name, c.dfar, at)
			}
			if !slices.Equal(before[:rSP], c.R[:rSP]) || *c.spsr() != psr || !bytes.Equal(memory, c.Memory.Bytes(freePages, 0x4000)) {
				t.Errorf("%s at %#x: something is half done", r.name, at)
			}
			if got := c.Counters().Instructions; got != sequence {
				t.Errorf("%s: %d instructions were executed", r.name, got-sequence)
			}
			n++
		}
	}
	require.That(t, n == 4*7*2, "%d cases", n)
}

// TestWalkIsOff turns halves of the address space off by TTBCR.
func TestWalkIsOff(t *testing.T) {
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	c := w.cpu()
	c.ttbr[1] = c.ttbr[0] | 0x4a // memory attributes of the walks
	for _, x := range []struct {
		ttbcr     uint32
		low, high bool
	}{{0, true, true}, {1, true, true}, {1 | ttbcrPD0, false, true}, {1 | ttbcrPD1, true, false}, {ttbcrPD0, false, false}, {ttbcrPD1, true, true}} {
		c.ttbcr = x.ttbcr
		c.flushTLB()
		_, low := c.DataAddress(userData, false)
		_, high := c.DataAddress(testStack, false)
		require.That(t, low == x.low && high == x.high, "TTBCR %#x: %v, %v", x.ttbcr, low, high)
	}
	require.Equal(t, c.dfsr, fsrTranslation, "DFSR")
}

// TestPair stores and loads two registers across pages, of which the second may be missing.
func TestPair(t *testing.T) {
	for _, x := range []struct {
		at   uint64
		code uint32
		far  uint64
	}{
		{userData + 0xffc, always32 | 0x01c340f0, userConst}, // strd: the second page is read-only
		{userConst + 0xffc, always32 | 0x01c340d0, userConst + 0x1000},
		{userConst + 0xffc, always32 | 0x08930030, userConst + 0x1000}, // ldm
	} {
		c := newWorld(t, cpus.Window, []uint32{x.code}, userMaps()...).cpu()
		c.R[3], c.R[4], c.R[5] = x.at, 0x44, 0x55
		if v := to(t, c); v != vecDataAbort || uint64(c.dfar) != x.far || c.R[4] != 0x44 || c.R[5] != 0x55 || c.R[rLR] != testCode+8 {
			t.Errorf("%#x at %#x: %s, DFAR %#x, registers %#x %#x", x.code, x.at, vectorNames[v], c.dfar, c.R[4], c.R[5])
		}
		v, _ := c.DataAddress(userData+0xffc, false)
		require.That(t, c.Memory.Load(binary.LittleEndian, v, 4) == 0, "half of it was stored")
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
		all[i].setCPSR(modeUser, psrMode)
		all[i].R[rPC] = userCode
		all[i].R[3] = userData
	}
	return w, all
}

// Exclusive accesses of the word at r3.
const (
	ldrex5 = always32 | 0x01935f9f
	strex6 = always32 | 0x01836f95 // of r5; r6 says whether it failed
)

// TestReservationsOfTwo breaks a reservation by what another CPU does between load and store.
func TestReservationsOfTwo(t *testing.T) {
	for i, x := range []struct {
		between []uint32
		keeps   bool
	}{
		{nil, true},
		{[]uint32{strAt(6, 3, 0)}, false},       // a store to it
		{[]uint32{strAt(6, 3, 60)}, false},      // to its line
		{[]uint32{strAt(6, 3, 64)}, true},       // to the next one
		{[]uint32{ldrAt(6, 3, 0)}, true},        // a load
		{[]uint32{ldrex5}, true},                // another reservation
		{[]uint32{ldrex5, strex6}, false},       // which is used
		{[]uint32{strex6}, true},                // a store that is not made
		{[]uint32{always32 | 0x089300c0}, true}, // ldm
	} {
		for _, each := range []clock.Ticks{0, clock.PerCycle} {
			t.Run(fmt.Sprint(i, each), func(t *testing.T) {
				w, all := pair(t, cpus.Throughput, each)
				w.words(freePages, ldrex5, insnNop, strex6, insnSVC)
				w.words(freePages+0x100, append(x.between, insnSVC)...)
				all[0].Steps(2, 1<<60)
				all[1].R[rPC] = userCode + 0x100
				to(t, all[1])
				if to(t, all[0]); (all[0].R[6] == 0) != x.keeps {
					t.Errorf("failed: %d", all[0].R[6])
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
			ldrex5, dataConstant(opADD, 0, 5, 5, 1), strex6, dataConstant(opCMP, 1, 6, 0, 0), condNE<<28|0x0afffffa,
			dataConstant(opSUB, 1, 7, 7, 1), condNE<<28|0x0afffff8, insnSVC)
		for _, c := range all {
			c.R[7] = 500
		}
		failed := 0
		done := vectorTable + 4*uint64(vecSupervisorCall)
		for all[0].PC() != done || all[1].PC() != done {
			c := all[r.IntN(2)]
			c.Steps(1+r.IntN(5), 1<<60)
			if c.PC() == userCode+12 && c.R[6] != 0 {
				failed++
			}
		}
		n := w.mem.Load(binary.LittleEndian, freePages+0x1000, 4)
		require.That(t, n == 1000 && failed != 0, "%s: counted to %d, %d stores failed", model, n, failed)
	}
}
