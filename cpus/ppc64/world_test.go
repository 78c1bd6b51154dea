package ppc64

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// Places of a world. The kernel sees RAM at kernelMap.
const (
	worldRAM    = 8 << 20
	worldTables = 6 << 20
	kernelMap   = 0xc000_0000_0000_0000
	testCode    = kernelMap + 0x10000
	testStack   = kernelMap + 0x80000
	freePages   = 0x100000 // physical, for pages of user mode
)

// world is memory with a page table and a bus, for CPUs under test.
type world struct {
	tb  testing.TB
	mem *mmu.Memory
	cfg cpus.Config
	bus cpus.Bus
	irq *line
	n   int // CPUs made
}

// line is an interrupt line that also notes when the decrementer expires.
type line struct {
	up bool
	at []clock.Ticks
}

// Pending implements cpus.Interrupts.
func (l *line) Pending() bool { return l.up }

// Acknowledge implements cpus.Interrupts.
func (l *line) Acknowledge() uint32 { return 0 }

// kernelMapping is the direct map.
func kernelMapping() mmu.Mapping {
	return mmu.Mapping{VA: kernelMap, Writable: true, Exec: true, Limit: worldTables}
}

// newWorld builds tables for maps beside the kernel's, and puts code at testCode. All interrupts are ways
// out of the guest, at their vectors.
func newWorld(tb testing.TB, model string, code []uint32, maps ...mmu.Mapping) *world {
	tb.Helper()
	w := &world{tb: tb, mem: cpustest.Memory(tb, worldRAM), cfg: cpustest.Config(ISA()), irq: &line{}}
	w.cfg.Model = model
	for _, c := range []*mmu.CacheConfig{&w.cfg.L1I, &w.cfg.L1D, &w.cfg.L2} {
		c.Line = 128
	}
	if errs := w.cfg.Check(ISA()); errs != nil {
		tb.Fatal(errs)
	}
	root := require.Must(ISA().Tables(w.mem, worldTables, append([]mmu.Mapping{kernelMapping()}, maps...)))(tb)
	w.bus = cpus.Bus{
		Memory: w.mem, Phase: func(uint64) uint8 { return 0 }, Root: root, Interrupts: w.irq,
		Native: [2]uint64{0x100, 0x1000},
	}
	w.words(testCode-kernelMap, code...)
	return w
}

// words writes instructions at a physical address.
func (w *world) words(pa uint64, code ...uint32) {
	for i, x := range code {
		w.mem.Store(binary.BigEndian, pa+4*uint64(i), 4, uint64(x))
	}
}

// cpu makes the next CPU of the world, in the kernel at testCode.
func (w *world) cpu() *CPU {
	c := build(ISA(), w.n, &w.cfg, w.bus)
	if w.n == 0 {
		w.bus.First = c
	}
	w.n++
	c.Boot(testCode, testStack)
	return c
}

// userMSR is problem state with translation and interrupts on.
const userMSR = msrSF | msrPR | msrEE | msrME | msrIR | msrDR | msrRI

// Encodings of instructions, by form.

func insnD(opcode, rt, ra uint32, imm int) uint32 {
	return opcode<<26 | rt<<21 | ra<<16 | uint32(imm)&0xffff
}

func insnX(opcode, rt, ra, rb, xo uint32) uint32 {
	return opcode<<26 | rt<<21 | ra<<16 | rb<<11 | xo<<1
}

func insnI(from, to uint64) uint32 { return 18<<26 | uint32(to-from)&0x3fffffc }

func insnM(opcode, rs, ra, sh, mb, me uint32) uint32 {
	return opcode<<26 | rs<<21 | ra<<16 | sh<<11 | mb<<6 | me<<1
}

func insnMD(rs, ra, sh, mb, xo uint32) uint32 {
	return 30<<26 | rs<<21 | ra<<16 | sh&31<<11 | mb&31<<6 | mb>>5<<5 | xo<<2 | sh>>5<<1
}

func insnSPR(rt, spr, xo uint32) uint32 { return insnX(31, rt, spr&31, spr>>5, xo) }

// Instructions that tests need often.

func li(rt uint32, v int) uint32             { return insnD(14, rt, 0, v) }
func lis(rt uint32, v int) uint32            { return insnD(15, rt, 0, v) }
func ori(ra, rs uint32, v int) uint32        { return insnD(24, rs, ra, v) }
func ldAt(rt, ra uint32, disp int) uint32    { return insnD(58, rt, ra, disp) }
func stdAt(rs, ra uint32, disp int) uint32   { return insnD(62, rs, ra, disp) }
func mtspr(spr, rs uint32) uint32            { return insnSPR(rs, spr, 467) }
func mfsprOf(rt, spr uint32) uint32          { return insnSPR(rt, spr, 339) }
func addTo(rt, ra, rb uint32) uint32         { return insnX(31, rt, ra, rb, 266) }
func addiTo(rt, ra uint32, v int) uint32     { return insnD(14, rt, ra, v) }
func branchIf(bo, bi uint32, by int) uint32  { return insnD(16, bo, bi, by) }
func compareImm(bf, ra uint32, v int) uint32 { return insnD(11, bf<<2|1, ra, v) }

const (
	insnSC    = 0x44000002
	insnRfid  = 0x4c000024
	insnNop   = 0x60000000
	insnTrap  = 0x7fe00008
	insnBlr   = 0x4e800020
	insnIsync = 0x4c00012c
)

// address loads a 32-bit address into a register.
func address(rt uint32, v uint64) []uint32 {
	return []uint32{lis(rt, int(int16(v>>16))), ori(rt, rt, int(v&0xffff))}
}
