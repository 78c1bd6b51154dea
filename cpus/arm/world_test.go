package arm

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
	kernelMap   = 0xc000_0000
	testCode    = kernelMap + 0x10000
	testStack   = kernelMap + 0x80000
	freePages   = 0x100000 // physical, for pages of user mode
	vectorTable = 0x1000   // virtual and physical; all vectors are ways out of the guest
)

// world is memory with page tables and a bus, for CPUs under test.
type world struct {
	tb  testing.TB
	mem *mmu.Memory
	cfg cpus.Config
	bus cpus.Bus
	irq *line
	n   int // CPUs made
}

// line is an interrupt line that also notes what timers say.
type line struct {
	up    bool
	timer [timerCount][]clock.Ticks
}

// Pending implements cpus.Interrupts.
func (l *line) Pending() bool { return l.up }

// Acknowledge implements cpus.Interrupts.
func (l *line) Acknowledge() uint32 { return 0 }

// TimerOutput implements TimerOutputs.
func (l *line) TimerOutput(timer int, from clock.Ticks) {
	l.timer[timer] = append(l.timer[timer], from)
}

// kernelMapping is the direct map.
func kernelMapping() mmu.Mapping {
	return mmu.Mapping{VA: kernelMap, Writable: true, Exec: true, Limit: worldTables}
}

// newWorld builds tables for maps beside the kernel's, and puts code at testCode.
func newWorld(tb testing.TB, model string, code []uint32, maps ...mmu.Mapping) *world {
	tb.Helper()
	vector := mmu.Mapping{VA: vectorTable, PA: vectorTable, Size: 0x1000, Exec: true}
	w := mapped(tb, model, append([]mmu.Mapping{kernelMapping(), vector}, maps...))
	w.words(testCode-kernelMap, code...)
	return w
}

// mapped is a world with nothing but the maps.
func mapped(tb testing.TB, model string, maps []mmu.Mapping) *world {
	tb.Helper()
	w := &world{tb: tb, mem: cpustest.Memory(tb, worldRAM), cfg: cpustest.Config(ISA()), irq: &line{}}
	w.cfg.Model = model
	if errs := w.cfg.Check(ISA()); errs != nil {
		tb.Fatal(errs)
	}
	root := require.Must(ISA().Tables(w.mem, worldTables, maps))(tb)
	w.bus = cpus.Bus{
		Memory: w.mem, Phase: func(uint64) uint8 { return 0 }, Root: root, Interrupts: w.irq,
		Native: [2]uint64{vectorTable, vectorTable + 32},
	}
	return w
}

// words writes instructions at a physical address.
func (w *world) words(pa uint64, code ...uint32) {
	for i, x := range code {
		w.mem.Store(binary.LittleEndian, pa+4*uint64(i), 4, uint64(x))
	}
}

// cpu makes the next CPU of the world, in the kernel at testCode.
func (w *world) cpu() *CPU {
	c := build(ISA(), w.n, &w.cfg, w.bus)
	if w.n == 0 {
		w.bus.First = c
	}
	w.n++
	c.vbar = vectorTable
	c.Boot(testCode, testStack)
	return c
}

// to runs to a vector and returns it, or -1.
func to(tb testing.TB, c *CPU) int {
	tb.Helper()
	for range 100 { // a timer stops the CPU so that the machine can look at its events
		e := c.Run(c.Now() + 1e8)
		if e.Reason == cpus.Limit {
			continue
		}
		require.Need(tb, e.Reason == cpus.Native && c.PC() >= vectorTable && c.PC() < vectorTable+32, "stopped for %v at %#x: %s", e.Reason, c.PC(), e.Detail)
		return int(c.PC()-vectorTable) / 4
	}
	tb.Fatalf("still running at %#x", c.PC())
	return -1
}

// Encodings that tests need often, without a condition in front.
const (
	always32 = condAL << 28

	insnNop = always32 | 0x0320f000
	insnSVC = always32 | 0x0f000000
	insnUDF = always32 | 0x07f001f8
	insnBX  = always32 | 0x012fff1e // bx lr
	insnWFI = always32 | 0x0320f003
	insnISB = 0xf57ff06f
	insnDSB = 0xf57ff04f
)

// constant writes a number of 32 bits to a register.
func constantTo(rd, v uint32) []uint32 {
	return []uint32{
		always32 | 0x03000000 | v>>12&15<<16 | rd<<12 | v&0xfff,
		always32 | 0x03400000 | v>>28<<16 | rd<<12 | v>>16&0xfff,
	}
}

func branchTo(from, to uint64) uint32 { return always32 | 0x0a000000 | uint32(to-from-8)>>2&0xffffff }

// data is a data-processing instruction with registers.
func data(opcode, s, rn, rd, rm uint32) uint32 {
	return always32 | opcode<<21 | s<<20 | rn<<16 | rd<<12 | rm
}

// dataConstant has a constant of eight bits.
func dataConstant(opcode, s, rn, rd, v uint32) uint32 {
	return always32 | 1<<25 | opcode<<21 | s<<20 | rn<<16 | rd<<12 | v
}

const (
	opSUB = 2
	opADD = 4
	opCMP = 10
	opORR = 12
	opMOV = 13
)

func ldrAt(rt, rn uint32, disp int) uint32 { return memAt(0x05100000, rt, rn, disp) }
func strAt(rt, rn uint32, disp int) uint32 { return memAt(0x05000000, rt, rn, disp) }

func memAt(op, rt, rn uint32, disp int) uint32 {
	if disp < 0 {
		return always32 | op | rn<<16 | rt<<12 | uint32(-disp)
	}
	return always32 | op | 1<<23 | rn<<16 | rt<<12 | uint32(disp)
}

func mcr(crn, op1, crm, op2, rt uint32) uint32 {
	return always32 | 0x0e000f10 | op1<<21 | crn<<16 | rt<<12 | op2<<5 | crm
}

func mrc(crn, op1, crm, op2, rt uint32) uint32 { return mcr(crn, op1, crm, op2, rt) | 1<<20 }

func wordBytes(words []uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
