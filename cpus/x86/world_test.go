package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// world is memory with page tables, descriptor tables and a bus, for CPUs under test.
type world struct {
	tb    testing.TB
	isa   *cpus.ISA
	pae   bool   // 32-bit mode with PAE and the bit that forbids execution
	data  uint64 // virtual address of the first byte of RAM for data
	image uint64 // and for code
	mem   *mmu.Memory
	bus   cpus.Bus
	cfg   *cpus.Config
	next  uint64 // free physical pages for tables
	irq   *irqs
	first *CPU
}

// Rights of pages in mapUser and mapPage.
const (
	pageExec  = pteUser
	pageWrite = pteUser | pteWrite | pteNX
)

// Physical and virtual places of a world.
const (
	worldRAM    = 16 << 20
	worldTables = 12 << 20
	worldGDT    = directMap + 0x10000
	worldTSS    = directMap + 0x10800
	worldIDT    = directMap + 0x11000
	worldStack  = directMap + 0x20000 // top of the kernel stack of the TSS
	worldIST    = directMap + 0x28000 // top of IST 1

	kernelCS = 0x10
	kernelDS = 0x18
	userDS   = 0x2b // as Linux numbers them
	userCS   = 0x33
	userCS32 = 0x23
	userFS   = 0x63 // in 32-bit mode: the whole space from fsBase
	userGS   = 0x6b // and gsLimit bytes less one from gsBase
	tssSel   = 0x40
)

// irqs is a queue of interrupt vectors.
type irqs struct{ queue []uint8 }

// Pending implements cpus.Interrupts.
func (q *irqs) Pending() bool { return len(q.queue) != 0 }

// Acknowledge implements cpus.Interrupts.
func (q *irqs) Acknowledge() uint32 {
	v := q.queue[0]
	q.queue = q.queue[1:]
	return uint32(v)
}

// newWorld builds tables with the kernel's mappings and puts code at testCode.
func newWorld(tb testing.TB, isa *cpus.ISA, model string, code []byte) *world {
	tb.Helper()
	return newWorldIn(tb, isa, model, code, cpustest.Memory(tb, worldRAM))
}

// newWorldIn is newWorld with a given memory.
func newWorldIn(tb testing.TB, isa *cpus.ISA, model string, code []byte, mem *mmu.Memory) *world {
	tb.Helper()
	maps := testMaps(isa)
	w := &world{tb: tb, isa: isa, pae: isa.Name == paeName, data: maps[0].VA, image: maps[len(maps)-2].VA, mem: mem, cfg: testConfig(model), next: worldTables + 0x200000, irq: &irqs{}}
	if errs := w.cfg.Check(isa); errs != nil {
		tb.Fatal(errs)
	}
	root := require.Must(isa.Tables(w.mem, worldTables, maps))(tb)
	w.bus = cpus.Bus{Memory: w.mem, Phase: func(uint64) uint8 { return 0 }, Root: root, Interrupts: w.irq}
	w.mem.Write(testCode-kernelMap, code)
	w.descriptors()
	return w
}

// descriptors writes the GDT and the TSS.
func (w *world) descriptors() {
	kernelCode := uint64(0x00af9b000000ffff)
	if w.isa.Bits == 32 {
		kernelCode = 0x00cf9b000000ffff
	}
	for sel, d := range map[uint64]uint64{
		kernelCS: kernelCode, kernelDS: 0x00cf93000000ffff, userCS32 &^ 7: 0x00cffb000000ffff,
		userDS &^ 7: 0x00cff3000000ffff, userCS &^ 7: 0x00affb000000ffff,
		userFS &^ 7: describe(0xf3, 0xd, fsBase, 0xfffff), userGS &^ 7: describe(0xf3, 5, gsBase, gsLimit),
	} {
		w.store(w.at(worldGDT)+sel, d)
	}
	tss := w.at(worldTSS)
	w.store(w.at(worldGDT)+tssSel, describe(0x89, 0, tss, 0x67))
	w.store(w.at(worldTSS)+0x24, worldIST)
	w.mem.Store(binary.LittleEndian, worldTSS-directMap+0x66, 2, 0x68) // no map of ports
	if w.isa.Bits == 64 {
		w.store(w.at(worldGDT)+tssSel+8, tss>>32)
		w.store(w.at(worldTSS)+4, worldStack)
	} else {
		w.store(w.at(worldTSS)+4, w.at(worldStack)|kernelDS<<32)
	}
}

// describe makes a segment descriptor from its type, its upper flags, base and limit.
func describe(kind, flags, base, limit uint64) uint64 {
	return limit&0xffff | base&0xffffff<<16 | kind<<40 | limit>>16<<48 | flags<<52 | base>>24&0xff<<56
}

// at gives the address in this world's direct map of one in that of 64-bit mode.
func (w *world) at(va uint64) uint64 { return va - directMap + w.data }

// code gives the address in this world's image of one in that of 64-bit mode.
func (w *world) code(va uint64) uint64 { return va - kernelMap + w.image }

const paeName = "i386 with PAE"

// isaPAE is ISA32 with the page tables of PAE.
func isaPAE() *cpus.ISA {
	isa := ISA32()
	isa.Name, isa.Tables = paeName, paeFormat(true, 52).build
	return isa
}

// gates fills the IDT: the handler and IST slot of each of the first 64 vectors.
func (w *world) gates(at func(v int) (addr uint64, ist uint8)) {
	for v := range 64 {
		a, ist := at(v)
		w.gate(v, a, ist, 0xee) // DPL 3
	}
}

func (w *world) gate(v int, a uint64, ist, kind uint8) {
	size := uint64(w.isa.Bits / 4)
	at := w.at(worldIDT) + uint64(v)*size
	w.store(at, a&0xffff|kernelCS<<16|uint64(ist)<<32|uint64(kind)<<40|a>>16&0xffff<<48)
	if size == 16 {
		w.store(at+8, a>>32)
	}
}

// cpu makes a CPU at testCode with descriptor tables loaded.
func (w *world) cpu() *CPU {
	c := w.isa.New(0, w.cfg, w.bus).(*CPU)
	if w.pae {
		c.cr4 |= cr4PAE
		c.msr.efer |= eferNXE
		c.setTables()
	}
	c.Boot(w.code(testCode), w.at(testStack))
	c.gdt = table{w.at(worldGDT), 0x7f}
	c.idt = table{w.at(worldIDT), uint16(64*w.isa.Bits/4 - 1)}
	c.tr = segment{sel: tssSel, base: w.at(worldTSS), limit: 0x67, attr: 0x8b}
	w.first = c
	return c
}

// user puts c into user mode.
func (w *world) user(c *CPU) {
	if w.isa.Bits == 32 {
		for i, sel := range []uint16{userDS, userCS32, userDS, userDS, userFS, userGS} {
			c.seg[i] = unpack(sel, w.load(w.at(worldGDT)+uint64(sel&^7)))
			c.segBase[i] = c.seg[i].base
		}
		c.setCPL(3)
		return
	}
	c.seg[segCS] = unpack(userCS, w.load(worldGDT+userCS&^7))
	c.seg[segSS] = unpack(userDS, w.load(worldGDT+userDS&^7))
	for _, i := range []int{segES, segDS, segFS, segGS} {
		c.seg[i] = segment{}
	}
	c.setCPL(3)
}

// load and store access the direct map.
func (w *world) load(va uint64) uint64     { return w.mem.Load(binary.LittleEndian, va-w.data, 8) }
func (w *world) store(va uint64, v uint64) { w.mem.Store(binary.LittleEndian, va-w.data, 8, v) }

// mapUser maps size bytes by 4 KiB pages.
func (w *world) mapUser(va, pa uint64, size int, rights uint64) {
	for off := uint64(0); off < uint64(size); off += 0x1000 {
		w.mapPage(va+off, pa+off|rights|ptePresent)
	}
}

// mapPage writes the last-level entry of va and makes the levels above permit everything.
func (w *world) mapPage(va, entry uint64) {
	w.mem.Store(binary.LittleEndian, w.pte(va), w.entry(), entry)
	if w.pae && w.first != nil {
		w.first.loadPDPTEs() // as a kernel loads CR3 again
	}
}

// entry is the size of an entry of the page tables.
func (w *world) entry() int {
	if w.isa.Bits == 32 && !w.pae {
		return 4
	}
	return 8
}

// pte returns the physical address of the last-level entry of va, with the tables above it made.
func (w *world) pte(va uint64) uint64 {
	levels, bits, n := 4, 9, w.entry()
	switch {
	case n == 4:
		levels, bits = 2, 10
	case w.isa.Bits == 32:
		levels = 3
	}
	entry := func(t uint64, level int) uint64 { return t + va>>(12+bits*level)&(1<<bits-1)*uint64(n) }
	t := w.bus.Root
	for level := levels - 1; level > 0; level-- {
		at := entry(t, level)
		if w.mem.Load(binary.LittleEndian, at, n)&ptePresent == 0 {
			w.mem.Store(binary.LittleEndian, at, n, w.next)
			w.next += 0x1000
		}
		rights := uint64(ptePresent | pteWrite | pteUser)
		if levels == 3 && level == 2 {
			rights = ptePresent // the others are reserved
		}
		w.mem.Store(binary.LittleEndian, at, n, w.mem.Load(binary.LittleEndian, at, n)|rights)
		t = w.mem.Load(binary.LittleEndian, at, n) & 0x000f_ffff_ffff_f000
	}
	return entry(t, 0)
}
