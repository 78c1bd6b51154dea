package x86

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
)

// TestHostDecidesNothing runs random programs that write into their own and each other's code, change their page tables, flush TLBs
// or not, and are interrupted.
func TestHostDecidesNothing(t *testing.T) {
	cpustest.HostDecidesNothing(t, [2]uint64{churnCode + 0x400, churnCode + 0x900}, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] {
		return newChurn(t, n, seed).rig
	})
}

// Places of a churn. Code lies at two addresses, of which the pages of the first one change between two copies of it.
const (
	churnCode  = 0x40000000
	churnAlias = 0x40010000
	churnData  = 0x40020000
	churnLost  = churnData + 7*0x1000 // its page comes and goes
	churnTable = 0x40030000           // what is stored into page tables, and where jumps go
	churnStack = 0x40040000
	churnPages = 3 // of code
	churnRAM   = 0x800000
	churnCopy  = 0x810000
	churnDRAM  = 0x820000
	churnTRAM  = 0x840000
)

// churn is a machine with a random program.
type churn struct {
	*world
	rng   *rand.Rand
	rig   *cpustest.Rig[*CPU]
	code  []byte
	sites []site // that may be written
	begun []int  // where gadgets begin
	moves []uint64
	loops int
	cold  bool // pushes and pops miss the first level
}

// site is a place in the code with bytes that it may have.
type site struct {
	at   int
	have [][]byte
}

func newChurn(t *testing.T, n int, seed uint64) *churn {
	w := newWorld(t, modes()[seed%3], []string{cpus.Window, cpus.Window, cpus.Throughput}[seed/2%3], nil)
	c := &churn{world: w, rng: rand.New(rand.NewPCG(seed, 17)), rig: &cpustest.Rig[*CPU]{
		Memory: w.mem, Kept: func(c *CPU) any { return c.State() }, Restored: (*CPU).Restored, Registers: churnRegisters,
	}}
	cpustest.Narrow(w.cfg, 64)
	cpustest.Ahead(w.cfg, seed)
	w.cfg.FrontEnd.FetchBytes, w.cfg.FrontEnd.Queue = 16, 8
	if seed%4 != 1 {
		w.cfg.FrontEnd.LoopBuffer, w.cfg.FrontEnd.LoopWindows = 18, 4
	}
	if w.cfg.Model == cpus.Window && seed%4 < 2 {
		cpustest.Piped(w.cfg, w.isa)
		if seed >= 12 { // TestEffects has the sums of the ones before
			w.cfg.BackEnd.StoreQueue, w.cfg.BackEnd.MissBuffers = true, 2
		}
	}
	c.cold = seed >= 24
	c.write()
	c.rig.Fill(n, c.rng, c.cpu)
	return c
}

func churnRegisters(c *CPU) any {
	return [2]any{c.R, [4]uint64{c.flags(), c.cr2, c.cr3, uint64(c.dreg[6])}}
}

// cpu makes a CPU.
func (c *churn) cpu(i int) *CPU {
	c.bus.Interrupts, c.bus.Device = nil, nil
	c.rig.Bus(&c.bus, 0x20)
	x := c.isa.New(i, c.cfg, c.bus).(*CPU)
	if c.pae {
		x.cr4 |= cr4PAE
		x.msr.efer |= eferNXE
		x.setTables()
	}
	x.Boot(churnCode+uint64(c.begun[c.rng.IntN(len(c.begun))]), churnStack+0x800+uint64(i)*0x1000)
	x.gdt = table{c.at(worldGDT), 0x7f}
	x.idt = table{c.at(worldIDT), uint16(64*c.isa.Bits/4 - 1)}
	x.tr = segment{sel: tssSel, base: c.at(worldTSS), limit: 0x67, attr: 0x8b}
	x.setFlags(flagIF|flagOne, ^uint64(0))
	x.R[rdi], x.R[rsi], x.R[rbx] = churnData, churnCode, churnTable
	x.R[rbp] = testMaps(c.isa)[len(testMaps(c.isa))-1].VA
	return x
}

// write writes code, tables and handlers.
func (c *churn) write() {
	c.moves = []uint64{}
	for range 60 {
		c.gadget()
	}
	for len(c.code) < churnPages*0x1000-200 {
		c.gadget()
	}
	c.jump(0xe9, 0)
	c.patches()
	c.mem.Write(churnRAM, c.code)
	c.mem.Write(churnCopy, c.code)
	for _, s := range c.sites {
		c.mem.Write(churnRAM+uint64(s.at), s.have[c.rng.IntN(len(s.have))])
		c.mem.Write(churnCopy+uint64(s.at), s.have[c.rng.IntN(len(s.have))])
	}
	c.maps()
	c.handlers()
}

// rights of pages that anything may be done to.
const churnRights = ptePresent | pteWrite

// maps maps everything and fills the table: entries of code's pages for each of its copies, entries of data, and addresses to jump to.
func (c *churn) maps() {
	for i := range uint64(churnPages) {
		c.mapPage(churnCode+i<<12, churnRAM+i<<12|churnRights)
		c.mapPage(churnAlias+i<<12, churnRAM+i<<12|churnRights)
		c.entryOf(int(i)*2, churnRAM+i<<12|churnRights)
		c.entryOf(int(i)*2+1, churnCopy+i<<12|churnRights)
	}
	for i := range uint64(8) {
		c.mapPage(churnData+i<<12, churnDRAM+i<<12|churnRights)
		c.mapPage(churnStack+i<<12, churnDRAM+0x10000+i<<12|churnRights)
		c.entryOf(int(16+i), churnDRAM+i<<12|churnRights)
		c.entryOf(int(24+i), churnDRAM+(i^1)<<12|churnRights)
	}
	c.mapPage(churnTable, churnTRAM|churnRights)
	for i := range 64 {
		base := []uint64{churnCode, churnAlias}[c.rng.IntN(2)]
		c.mem.Store(binary.LittleEndian, churnTRAM+0x400+8*uint64(i), 8, base+uint64(c.begun[c.rng.IntN(len(c.begun))]))
	}
	// The page tables themselves, behind the table.
	c.mapPage(churnTable+0x1000, c.pte(churnCode)&^0xfff|churnRights)
}

func (c *churn) entryOf(i int, v uint64) {
	c.mem.Store(binary.LittleEndian, churnTRAM+8*uint64(i), 8, v)
}

// handlers fills the descriptor table. Interrupts count, single steps end themselves, and the lost page is found again.
func (c *churn) handlers() {
	at := c.code0()
	c.gates(func(v int) (uint64, uint8) { return at + uint64(v)*64, 0 })
	pa := uint64(testCode - kernelMap)
	for v := range uint64(64) {
		code := []byte{0xff, 0x83}
		code = binary.LittleEndian.AppendUint32(code, uint32(0xc00+4*v)) // incl disp(%rbx)
		frame := byte(8)
		if c.isa.Bits == 64 {
			frame = 16
		}
		switch v {
		case vecDB:
			code = append(code, 0x81, 0x64, 0x24, frame, 0xff, 0xfe, 0xff, 0xff) // andl $~TF,frame(%rsp)
		case vecPF:
			code = append(c.findLost(), c.dropWord()...)
		}
		c.mem.Write(pa+v*64, append(code, c.iret()...))
	}
}

func (c *churn) code0() uint64 { return c.world.code(testCode) }

// findLost restores the entry of the page that comes and goes.
func (c *churn) findLost() []byte {
	return append(append([]byte{0x50}, c.storeEntry(16+7, churnLost)...), 0x58) // push %rax; ...; pop %rax
}

// storeEntry stores an entry of the table into the page tables, for an address.
func (c *churn) storeEntry(i int, va uint64) []byte {
	var rex []byte
	if c.entry() == 8 && c.isa.Bits == 64 {
		rex = []byte{0x48}
	}
	to := 0x1000 + c.pte(va)&0xfff
	var code []byte
	for part := 0; part == 0 || rex == nil && part < c.entry(); part += 4 {
		code = binary.LittleEndian.AppendUint32(append(append(code, rex...), 0x8b, 0x83), uint32(8*i+part)) // mov disp(%rbx),%rax
		code = binary.LittleEndian.AppendUint32(append(append(code, rex...), 0x89, 0x83), uint32(to)+uint32(part))
	}
	return code
}
