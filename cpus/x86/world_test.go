package x86

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// world is memory with page tables, descriptor tables and a bus, for CPUs under test.
type world struct {
	tb    testing.TB
	mem   *mmu.Memory
	bus   cpus.Bus
	cfg   *cpus.Config
	next  uint64 // free physical pages for tables
	irq   *irqs
	first *CPU
}

// Rights of pages in mapUser and mapPage.
const (
	pageExec  = mmu.PteUser
	pageWrite = mmu.PteUser | mmu.PteWrite | mmu.PteNX
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
	tssSel   = 0x40
)

// irqs is a queue of interrupt vectors.
type irqs struct{ queue []uint8 }

// Pending implements cpus.Interrupts.
func (q *irqs) Pending() (uint8, bool) {
	if len(q.queue) == 0 {
		return 0, false
	}
	return q.queue[0], true
}

// Ack implements cpus.Interrupts.
func (q *irqs) Ack() uint8 {
	v := q.queue[0]
	q.queue = q.queue[1:]
	return v
}

// newWorld builds tables with the kernel's mappings and puts code at testCode.
func newWorld(tb testing.TB, model string, code []byte) *world {
	tb.Helper()
	isa := ISA64()
	w := &world{tb: tb, mem: mmu.NewMemory(worldRAM), cfg: testConfig(model), next: worldTables + 0x200000, irq: &irqs{}}
	if errs := w.cfg.Check(isa); errs != nil {
		tb.Fatal(errs)
	}
	root, err := isa.Tables(w.mem, worldTables, isa.Maps)
	if err != nil {
		tb.Fatal(err)
	}
	w.bus = cpus.Bus{Memory: w.mem, Phase: func(uint64) uint8 { return 0 }, Root: root, Interrupts: w.irq}
	w.mem.Write(testCode-kernelMap, code)
	for sel, d := range map[uint64]uint64{
		kernelCS: 0x00af9b000000ffff, kernelDS: 0x00cf93000000ffff,
		userDS &^ 7: 0x00cff3000000ffff, userCS &^ 7: 0x00affb000000ffff,
	} {
		w.store(worldGDT+sel, d)
	}
	tss := uint64(worldTSS)
	w.store(worldGDT+tssSel, 0x67|tss&0xffffff<<16|0x89<<40|tss>>24&0xff<<56)
	w.store(worldGDT+tssSel+8, tss>>32)
	w.store(worldTSS+4, worldStack)
	w.store(worldTSS+0x24, worldIST)
	return w
}

// gates fills the IDT: the handler and IST slot of each of the first 64 vectors.
func (w *world) gates(at func(v int) (addr uint64, ist uint8)) {
	for v := range 64 {
		a, ist := at(v)
		w.gate(v, a, ist, 0xee) // DPL 3
	}
}

func (w *world) gate(v int, a uint64, ist, kind uint8) {
	w.store(worldIDT+uint64(v)*16, a&0xffff|kernelCS<<16|uint64(ist)<<32|uint64(kind)<<40|a>>16&0xffff<<48)
	w.store(worldIDT+uint64(v)*16+8, a>>32)
}

// cpu makes a CPU at testCode with descriptor tables loaded.
func (w *world) cpu() *CPU {
	c := ISA64().New(0, w.cfg, w.bus).(*CPU)
	c.Boot(testCode, testStack)
	c.gdt = table{worldGDT, 0x7f}
	c.idt = table{worldIDT, 0x3ff}
	c.tr = segment{sel: tssSel, base: worldTSS, limit: 0x67, attr: 0x8b}
	w.first = c
	return c
}

// user puts c into user mode.
func (w *world) user(c *CPU) {
	c.seg[segCS] = unpack(userCS, w.load(worldGDT+userCS&^7))
	c.seg[segSS] = unpack(userDS, w.load(worldGDT+userDS&^7))
	for _, i := range []int{segES, segDS, segFS, segGS} {
		c.seg[i] = segment{}
	}
	c.setCPL(3)
}

// load and store access the direct map.
func (w *world) load(va uint64) uint64     { return w.mem.Load(va-directMap, 8) }
func (w *world) store(va uint64, v uint64) { w.mem.Store(va-directMap, 8, v) }

// mapUser maps size bytes by 4 KiB pages.
func (w *world) mapUser(va, pa uint64, size int, rights uint64) {
	for off := uint64(0); off < uint64(size); off += 0x1000 {
		w.mapPage(va+off, pa+off|rights|mmu.PtePresent)
	}
}

// mapPage writes the last-level entry of va and makes the levels above permit everything.
func (w *world) mapPage(va, entry uint64) { w.mem.Store(w.pte(va), 8, entry) }

// pte returns the physical address of the last-level entry of va, with the tables above it made.
func (w *world) pte(va uint64) uint64 {
	t := w.bus.Root
	for level := 3; level > 0; level-- {
		at := t + va>>(12+9*level)&511*8
		if w.mem.Load(at, 8)&mmu.PtePresent == 0 {
			w.mem.Store(at, 8, w.next)
			w.next += 0x1000
		}
		w.mem.Store(at, 8, w.mem.Load(at, 8)|mmu.PtePresent|mmu.PteWrite|mmu.PteUser)
		t = w.mem.Load(at, 8) & 0x000f_ffff_ffff_f000
	}
	return t + va>>12&511*8
}
