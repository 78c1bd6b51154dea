package arm

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/mmu"
)

// TestHostDecidesNothing runs random programs that write into their own and each other's code, change their page tables, drop
// translations or not, and are interrupted.
func TestHostDecidesNothing(t *testing.T) {
	cpustest.HostDecidesNothing(t, [2]uint64{churnCode + 0x400, churnCode + 0x900}, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] {
		return newChurn(t, n, seed).rig
	})
}

// Places of a churn. Code lies at two addresses, of which the pages of the first change between two copies of it.
const (
	churnCode   = 0x1000_0000
	churnAlias  = 0x1001_0000
	churnData   = 0x2000_0000 // eight pages, of which the last comes and goes
	churnTable  = 0x2000_8000 // constants, and at 0xc00 where jumps lead
	churnDevice = 0x3000_0000
	churnTables = 0x4000_0000 // the page tables
	churnPages  = 3           // of code
	churnRAM    = 0x100000
	churnCopy   = 0x110000
	churnDRAM   = 0x120000
	churnIO     = 0x8000_0000 // physical
)

// churn is a machine with a random program. r8 to r12 stay what they are.
type churn struct {
	*world
	cpustest.Words
	rig   *cpustest.Rig[*CPU]
	loops int
}

func newChurn(t *testing.T, n int, seed uint64) *churn {
	r := rand.New(rand.NewPCG(seed, 17))
	const size = churnPages << 12
	w := mapped(t, []string{cpus.Window, cpus.Scoreboard, cpus.Throughput}[seed%3], []mmu.Mapping{
		{VA: vectorTable, PA: vectorTable, Size: 0x1000, Exec: true},
		{VA: churnCode, PA: churnRAM, Size: size, Writable: true, Exec: true},
		{VA: churnAlias, PA: churnRAM, Size: size, Writable: true, Exec: true},
		{VA: churnData, PA: churnDRAM, Size: 0x9000, Writable: true},
		{VA: churnDevice, PA: churnIO, Size: 0x1000, Writable: true, Uncached: true},
		{VA: churnTables, PA: worldTables, Size: 0x40000, Writable: true},
	})
	c := &churn{world: w, Words: cpustest.NewWords(r, binary.LittleEndian)}
	c.rig = &cpustest.Rig[*CPU]{Memory: w.mem, Registers: func(c *CPU) any {
		return [2]any{c.R, [6]uint64{uint64(c.cpsr()), uint64(*c.spsr()), uint64(c.dfar), uint64(c.dfsr), uint64(c.ifar), uint64(c.tpidrPRW)}}
	}}
	cpustest.Narrow(&w.cfg, 64)
	w.keep(int(seed / 2 % kinds))
	cpustest.Ahead(&w.cfg, seed)
	if errs := w.cfg.Check(ISA()); errs != nil {
		t.Fatal(errs)
	}
	w.bus.Native = [2]uint64{1, 1}
	c.write()
	c.rig.Fill(n, r, c.cpu)
	return c
}

// cpu makes a CPU.
func (c *churn) cpu(i int) *CPU {
	c.rig.Bus(&c.bus, 0)
	x := build(ISA(), i, &c.cfg, c.bus)
	x.vbar = vectorTable
	x.Boot(c.Some(churnCode), 0)
	x.setCPSR(modeSupervisor, psrMode|psrI)
	for r := range uint64(8) {
		x.R[r] = uint64(uint32(r * 0x89abcdef))
	}
	x.R[8], x.R[9], x.R[10], x.R[11] = churnTable, churnDevice, churnCode, churnData
	return x
}

// entry returns where the page tables have an address.
func (c *churn) entry(va uint64) uint64 {
	first := c.mem.Load(binary.LittleEndian, c.bus.Root+va>>section<<2, 4)
	return first&^0x3ff | va>>smallPage&0xff<<2
}

// constant loads a number from the table into a register.
func (c *churn) constant(r, v uint32) uint32 {
	at := 4 * c.Constant(uint64(v), 0x300)
	c.mem.Store(binary.LittleEndian, churnDRAM+0x8000+uint64(at), 4, uint64(v))
	return ldrAt(r, 8, at)
}

// write writes code and handlers.
func (c *churn) write() {
	c.Fill(churnPages<<10-60, c.gadget)
	c.Add(branchTo(4*uint64(len(c.Code)), 0))
	for i := range uint64(32) {
		at := c.Some([]uint64{churnCode, churnAlias}[c.IntN(2)])
		c.mem.Store(binary.LittleEndian, churnDRAM+0x8c00+4*i, 4, at)
	}
	c.Words.Write(c.mem, churnRAM, churnCopy)
	c.handlers()
}

// handlers fills the vectors. Interrupts count, the page that comes and goes is found again, and a wild jump does not come back.
func (c *churn) handlers() {
	const movs, subs = always32 | 0x01b0f00e, always32 | 0x025ef000 // movs pc, lr; subs pc, lr, #n
	save, restore := mcr(13, 0, 0, 4, 0), mrc(13, 0, 0, 4, 0)
	lost := c.entry(churnData + 0x7000)
	for v, code := range [vectors][]uint32{
		vecReset: {movs}, vecUndefined: {movs}, vecSupervisorCall: {movs}, vecHypervisor: {movs}, vecFIQ: {movs},
		vecPrefetchAbort: {data(opMOV, 0, 0, 14, 10), movs},
		vecDataAbort: {
			save, mcr(13, 0, 0, 2, 1), c.constant(0, uint32(c.mem.Load(binary.LittleEndian, lost, 4))), c.constant(1, uint32(lost)-worldTables+churnTables),
			strAt(0, 1, 0), restore, mrc(13, 0, 0, 2, 1), subs | 8,
		},
		vecIRQ: {
			save, dataConstant(opMOV, 0, 0, 0, 0), strAt(0, 9, 8), ldrAt(0, 8, 0xd00), dataConstant(opADD, 0, 0, 0, 1), strAt(0, 8, 0xd00), restore, subs | 4,
		},
	} {
		at := uint64(vectorTable + 0x100*(v+1))
		c.words(vectorTable+4*uint64(v), branchTo(vectorTable+4*uint64(v), at))
		c.words(at, code...)
	}
}

func (c *churn) low() uint32 { return c.Uint32N(7) }

// page has r7 lead to a page of data, or of code.
func page(base uint32, n int) uint32 { return dataConstant(opADD, 0, base, 7, 10<<8|uint32(n)) }

// gadget adds one.
func (c *churn) gadget() {
	switch c.IntN(18) {
	case 0, 1, 2:
		r := c.low()
		c.Site(dataConstant(opADD, 0, r, r, 3), data(opADD, 1, c.low(), r, c.low()), insnNop, always32|0x0affffff, data(1, 0, c.low(), r, c.low()),
			insnUDF, dataConstant(opMOV, 0, 0, r, 5), when32(c.Uint32N(condAL), dataConstant(opADD, 0, r, r, 1)))
	case 3, 4, 5:
		at := []int{4 * c.IntN(16), 0xff8 + c.IntN(7), 0x800*c.IntN(2) + 4*c.IntN(8)}[c.IntN(3)]
		c.Add(page(11, c.IntN(8)), memAt([]uint32{0x05100000, 0x05000000, 0x05500000, 0x05400000}[c.IntN(4)], c.low(), 7, at))
	case 6:
		c.Add(page(11, c.IntN(8)), dataConstant(opADD, 0, 7, 7, 15<<8|uint32(c.IntN(64))), // multiples of four
			always32|0x08870000|c.Uint32N(0x7e)+1, always32|0x08970000|c.Uint32N(0x7e)+1) // stm, ldm
	case 7: // a loop of some rounds
		at := 0x200 + c.loops%0x600
		c.loops++
		c.Add(memAt(0x05500000, 0, 11, at), dataConstant(opADD, 0, 0, 0, 1), memAt(0x05400000, 0, 11, at), dataConstant(8, 1, 0, 0, []uint32{1, 3, 7}[c.IntN(3)]))
		c.Add(condNE<<28 | 0x0a000000 | uint32(c.Behind()-8)>>2&0xffffff)
	case 8:
		c.Add(dataConstant(opCMP, 1, c.low(), 0, 5), c.Uint32N(condAL)<<28|0x0a000000, insnNop)
	case 9, 10, 11, 12:
		c.patch()
	case 13:
		c.remap()
	case 14: // interrupts on, off, and the time
		c.Add([]uint32{0xf1080080, 0xf1080080, 0xf10c0080, always32 | 0x0c510f1e}[c.IntN(4)])
	case 15: // a store conditional
		c.Add(page(11, c.IntN(2)), always32|0x01970f9f, always32|0x01871f90)
	case 16: // a function, and a jump to another gadget each time
		c.Add(always32|0x0b000000, always32|0x0a000001, dataConstant(opADD, 0, 5, 5, 1), insnBX)
		if c.IntN(3) == 0 {
			c.Add(memAt(0x05500000, 0, 11, 0x1ff), dataConstant(opADD, 0, 0, 0, 1), memAt(0x05400000, 0, 11, 0x1ff), dataConstant(0, 0, 0, 0, 31),
				data(opADD, 0, 8, 0, 2<<7), ldrAt(0, 0, 0xc00), always32|0x012fff10)
		}
	case 17:
		c.Add([]uint32{insnSVC, insnUDF, insnISB, insnDSB}[c.IntN(4)], dataConstant(opMOV, 0, 0, 0, c.Uint32N(4)), strAt(0, 9, 0))
	}
}

// patch adds a store into code, behind which caches may be told.
func (c *churn) patch() {
	code := []uint32{0, page(10, 0), strAt(0, 7, 0)}
	if c.IntN(3) == 0 {
		code = append(code, mcr(7, 0, 11, 1, 7), insnDSB, mcr(7, 0, 5, 1, 7), insnDSB, insnISB)
	}
	c.Patch(code, func(code []uint32, to int, word uint32) {
		code[0] = c.constant(0, word)
		code[1] |= uint32(to >> 12)
		code[2] |= uint32(to & 0xfff)
	})
}

// remap adds a store into the page tables, after which translations may be dropped.
func (c *churn) remap() {
	i := uint64(c.IntN(churnPages))
	va, v := churnCode+i<<12, []uint64{churnRAM, churnCopy}[c.IntN(2)]+i<<12
	if c.IntN(3) == 0 {
		i = 1 + uint64(c.IntN(6))
		va, v = churnData+i<<12, churnDRAM+(i^uint64(c.IntN(2)))<<12
	}
	if v |= c.mem.Load(binary.LittleEndian, c.entry(va), 4) & 0xfff; c.IntN(3) == 0 {
		va, v = churnData+7<<12, 0
	}
	c.Add(c.constant(0, uint32(v)), c.constant(1, uint32(c.entry(va))-worldTables+churnTables), strAt(0, 1, 0))
	if c.IntN(3) != 0 {
		c.Add(c.constant(2, uint32(va)), mcr(8, 0, []uint32{3, 7}[c.IntN(2)], 1, 2), insnDSB, insnISB)
	}
}
