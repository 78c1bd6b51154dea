package x86

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// segment is a segment register with its hidden part.
type segment struct {
	sel   uint16
	attr  uint16 // descriptor bits 55:40 with the limit's four taken out
	limit uint32
	base  uint64
}

// table is a descriptor-table register.
type table struct {
	base  uint64
	limit uint16
}

// look is one entry of the transparent copy of translations in front of the data TLB. Tags are the
// virtual page number plus the generation, which is never zero.
type look struct {
	read, write uint64
	base        uint64 // physical address of the page
}

// looks is the number of entries: enough for every page of a working set that a cache can hold.
const looks = 2048

// Reasons to leave a block.
const (
	stopFault = 1 << iota // an exception is pending in c.fault
	stopCode              // the running block may have been written
	stopExit              // c.exit says why
	stopBlock             // later instructions must be fetched anew
)

// Reasons to look around before the next block.
const (
	attendIRQ   = 1 << iota // an interrupt may be pending
	attendFlags             // TF or IF may have changed
)

// fault is an exception waiting for delivery.
type fault struct {
	vector   uint8
	hasError bool
	soft     bool  // raised by int n, int3: the gate's DPL is checked
	trap     bool  // rip already points behind the instruction
	address  bool  // #GP because of an address that is not canonical
	back     uint8 // bytes of a soft interrupt's instruction, at which an exception on the way points
	code     uint32
}

// CPU is one logical processor.
type CPU struct {
	r      [32]uint64
	res    uint64
	cy     uint64
	par    uint16
	aux    uint8
	stop   uint32
	attend uint32

	mem     []byte
	codeMap []uint64
	segBase [8]uint64
	linMask uint64

	timing

	look    [looks]look
	lookGen uint64 // in the bits above any page number
	ctl     uint64 // RFLAGS without the arithmetic bits
	fault   fault
	exit    cpus.Exit

	seg                [6]segment // in the manual's order: ES CS SS DS FS GS
	gdt, idt           table
	ldt, tr            segment
	cr0, cr2, cr3, cr4 uint64
	dreg               [8]uint64
	msr                msrs
	cpl                uint8
	user               bool // cpl == 3
	shadow             bool // sti or mov ss holds interrupts off for one instruction
	holdTraps          bool // mov ss holds debug traps off until the next instruction is done
	halted             bool
	parked             bool // after Reset, until Boot: its time is nobody's
	nmi                bool // latched
	nmiBlocked         bool // until the next iret
	leaving            bool // the running instruction is an iret that succeeded
	long               bool // 64-bit code segment in long mode
	watching           bool // DR7 arms something
	watchHit           uint64

	bus        cpus.Bus
	dir        *mmu.Directory // nil when the CPU is alone
	memory     *mmu.Memory
	itlb, dtlb *mmu.TLB
	dtlbGen    uint64
	fetcher

	cur      *block // the running block
	settled  int    // its instructions that have their place in time
	rest     rest   // what Steps has left of it
	stepped  bool   // the last observed instruction completed
	observed clock.Ticks
	observer cpus.Observer
	spans    [][2]uint64 // what is observed, and
	all      bool        // everything else too
	broken   bool        // the observer wants Steps to return
	step     cpus.Step
	num      int

	tables     mmu.PageFormat
	largeShift uint8   // of the TLBs
	args       []uint8 // argument registers of the calling convention
	reset      func(*CPU)
}

// New64 and New32 make a CPU in 64-bit mode and in 32-bit protected mode with paging on, as the loader
// leaves it.
func New64(n int, cfg *cpus.Config, bus cpus.Bus) cpus.CPU {
	return newCPU(n, cfg, bus, (*CPU).reset64)
}

// New32 is New64 for 32-bit protected mode.
func New32(n int, cfg *cpus.Config, bus cpus.Bus) cpus.CPU {
	return newCPU(n, cfg, bus, (*CPU).reset32)
}

func newCPU(n int, cfg *cpus.Config, bus cpus.Bus, reset func(*CPU)) *CPU {
	c := &CPU{num: n, reset: reset, bus: bus, memory: bus.Memory, mem: bus.Memory.Raw(), codeMap: bus.Memory.CodeMap()}
	c.largeShift = mmu.Long().Large
	c.itlb = mmu.NewTLB(cfg.ITLB, c.largeShift)
	c.dtlb = mmu.NewTLB(cfg.DTLB, c.largeShift)
	c.timing.init(cfg)
	c.attach(bus.Directory)
	c.fetcher.init(bus.Memory.Size())
	c.cur = new(block)
	if first, ok := bus.First.(*CPU); ok {
		c.library = first.library
	} else if bus.Directory != nil {
		c.library = newLibrary(bus.Memory)
	}
	bus.Memory.OnCodeStore(c.dropCode)
	c.forgetData()
	c.resetCommon()
	reset(c)
	c.setTables()
	return c
}

// reset64 gives the state in which a 64-bit kernel is entered.
func (c *CPU) reset64() {
	c.long = true
	c.linMask = ^uint64(0)
	c.args = argRegs64[:]
	c.cr4 = cr4PAE | cr4PGE
	c.msr.efer = eferSCE | eferLME | eferLMA | eferNXE
	c.seg[segCS] = segment{sel: 0x10, attr: 0xa09b, limit: 0xfffff}
	for _, s := range []int{segES, segSS, segDS} {
		c.seg[s] = segment{sel: 0x18, attr: 0xc093, limit: 0xfffff}
	}
}

func (c *CPU) resetCommon() {
	c.cr0 = cr0PE | cr0ET | cr0WP | cr0PG | cr0NE
	c.cr3 = c.bus.Root
	c.msr.pat = 0x0007040600070406
	c.dreg[6] = dr6Ones
	c.dreg[7] = dr7Ones
	c.res = 1
}

// Boot implements cpus.Probe.
func (c *CPU) Boot(entry, stack uint64, args ...uint64) {
	c.r[rRIP], c.halted, c.parked = entry, false, false
	c.r[rsp] = stack
	for i, a := range args {
		c.r[c.args[i]] = a
	}
}

// argRegs64 are the integer argument registers of the System V ABI for x86-64, 3.2.3, argRegs32 those
// of i386 code compiled with -mregparm=3.
var (
	argRegs64 = [...]uint8{rdi, rsi, rdx, rcx, r8, r9}
	argRegs32 = [...]uint8{rax, rdx, rcx}
)

// PC implements cpus.Context.
func (c *CPU) PC() uint64 { return c.r[rRIP] }

// SP implements cpus.Context.
func (c *CPU) SP() uint64 { return c.r[rsp] }

// Arg implements cpus.Context: argument i of a function at whose entry the CPU stands. Arguments
// behind those in registers are on the stack above the return address.
func (c *CPU) Arg(i int) uint64 {
	if i < len(c.args) {
		return c.r[c.args[i]]
	}
	pa, ok := c.Translate(c.r[rsp] + c.word()*uint64(1+i-len(c.args)))
	if !ok {
		return 0
	}
	return c.memory.Load(pa, int(c.word()))
}

// Return implements cpus.Context: it pops the return address and sets the result register.
func (c *CPU) Return(v uint64) {
	if pa, ok := c.Translate(c.r[rsp]); ok {
		c.r[rRIP] = c.memory.Load(pa, int(c.word()))
	}
	c.r[rsp] += c.word()
	c.r[rax] = v & c.linMask
	if c.rasTop > 0 {
		c.popReturn()
	}
}

// Call implements cpus.Caller. The stack is aligned as the ABI asks.
func (c *CPU) Call(fn, ret uint64, args ...uint64) (back uint64) {
	n := c.word()
	frame := []uint64{ret}
	for i, a := range args {
		if i < len(c.args) {
			c.r[c.args[i]] = a & c.linMask
		} else {
			frame = append(frame, a)
		}
	}
	sp := (c.r[rsp]-64-n*uint64(len(frame)-1))&^15 - n
	for i, v := range frame {
		if pa, ok := c.Translate(sp + n*uint64(i)); ok {
			c.memory.Store(pa, int(n), v)
		}
	}
	c.r[rsp] = sp
	c.r[rRIP] = fn
	return sp + n
}

// Returned implements cpus.Caller.
func (c *CPU) Returned(sp uint64) uint64 {
	c.r[rsp] = sp
	return c.r[rax]
}

// Now implements cpus.CPU: the time at which the last instruction retired.
func (c *CPU) Now() clock.Ticks { return c.retire }

// Advance implements cpus.CPU.
func (c *CPU) Advance(t clock.Ticks) {
	c.drain(t)
	if c.parked {
		c.mark = c.retire
	}
	c.charge()
}

// Signal implements cpus.Signals. There is one line, LineNMI.
func (c *CPU) Signal(int) {
	c.nmi = true
	c.attend |= attendIRQ
}

// Reset implements cpus.Signals: it is what the manual calls INIT (SDM vol. 3, table 9-1, but with paging
// on, as Boot expects). The time-stamp counter goes on.
func (c *CPU) Reset() {
	c.charge()
	c.r, c.cy, c.par, c.aux, c.ctl = [32]uint64{}, 0, 0, 0, 0
	c.seg, c.segBase = [6]segment{}, [8]uint64{}
	c.gdt, c.idt, c.ldt, c.tr = table{}, table{}, segment{}, segment{}
	c.cr2, c.dreg = 0, [8]uint64{}
	c.msr = msrs{tscOffset: c.msr.tscOffset}
	c.cpl, c.user, c.shadow, c.holdTraps, c.leaving = 0, false, false, false, false
	c.watching, c.watchHit, c.nmi, c.nmiBlocked = false, 0, false, false
	c.fault, c.exit, c.stop, c.attend = fault{}, cpus.Exit{}, 0, 0
	c.ctx, c.ctxs, c.phase = cpus.NoException, nil, 0
	c.resetCommon()
	c.reset(c)
	c.setTables()
	c.flushTLB(true)
	c.halted, c.parked = true, true
}

// Interrupt implements cpus.CPU.
func (c *CPU) Interrupt() { c.attend |= attendIRQ }

// Counters implements cpus.Probe.
func (c *CPU) Counters() *cpus.Counters {
	c.charge()
	return &c.ctr
}

// Observe implements cpus.Probe.
func (c *CPU) Observe(o cpus.Observer) { c.ObserveCode(o, nil, true) }

// Break implements cpus.Probe.
func (c *CPU) Break() { c.broken = true }

// ObserveCode implements cpus.Probe. Blocks know whether they lie in a span, so all are decoded anew.
func (c *CPU) ObserveCode(o cpus.Observer, spans [][2]uint64, all bool) {
	if len(spans) > 0 || c.spans != nil {
		c.pages, c.cur = make([]*codePage, len(c.pages)), new(block)
		c.forgetFetch()
	}
	c.observer, c.spans, c.all = o, spans, all
	c.step = cpus.Step{CPU: c.num}
	c.observed = c.retire
}

// Registers implements cpus.Probe.
func (c *CPU) Registers() []cpus.Register {
	var out []cpus.Register
	for i, n := range c.registerNames() {
		out = append(out, cpus.Register{Name: n, Value: c.r[i]})
	}
	return append(out,
		cpus.Register{Name: c.prefix() + "ip", Value: c.r[rRIP]}, cpus.Register{Name: c.prefix() + "flags", Value: c.flags()},
		cpus.Register{Name: "cr0", Value: c.cr0}, cpus.Register{Name: "cr2", Value: c.cr2},
		cpus.Register{Name: "cr3", Value: c.cr3}, cpus.Register{Name: "cr4", Value: c.cr4},
		cpus.Register{Name: "dr6", Value: c.dreg[6]}, cpus.Register{Name: "dr7", Value: c.dreg[7]})
}
