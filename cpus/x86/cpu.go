package x86

import (
	"encoding/binary"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// segment is a segment register with its hidden part (SDM vol. 3, 3.4.3). The hidden part
// counts: a change of the descriptor in memory has no effect until the register is loaded again.
type segment struct {
	sel   uint16
	attr  uint16 // descriptor bits 55:40 with the limit's four taken out
	limit uint32
	base  uint64
}

// table is a descriptor-table register. Its base is a linear address.
type table struct {
	base  uint64
	limit uint16
}

// fault is an exception waiting for delivery: a fault or a trap in the manual's words (SDM vol. 3,
// 6.5). At most one waits, since the instruction that raises it ends.
type fault struct {
	vector   uint8
	hasError bool
	soft     bool  // raised by int n, int3: the gate's DPL is checked
	trap     bool  // rip already points behind the instruction
	address  bool  // #GP because of an address that is not canonical
	back     uint8 // bytes of a soft interrupt's instruction, at which an exception on the way points
	code     uint32
}

// inst is the executed part of an instruction: the operands of its function. It is small, because
// every execution reads it; what only decoding needs is not in it.
type inst struct {
	imm   uint64
	disp  int32
	dst   uint8 // register operands by number in CPU.R
	src   uint8
	base  uint8
	index uint8
	shift uint8
	seg   uint8
	len   uint8
	aux   uint8 // condition, control register number and the like
	rep   uint8 // fRep, fRepne
	// native says which host code it has.
	native nativeForm
}

// Repeat prefixes. On instructions that are no string instructions they have no effect, or are part
// of the opcode and gone.
const (
	fRep = 1 << iota
	fRepne
)

// Reasons to execute instructions one by one, in Core.Single.
const (
	oneTrap   = 1 << iota // RFLAGS.TF
	oneShadow             // sti or mov ss holds interrupts off for one instruction
	oneResume             // RFLAGS.RF holds instruction breakpoints off
	oneNull               // 32-bit code with a null DS or ES
)

// CPU is one logical processor. General registers and the instruction pointer are in Core.R, since
// the engine keeps their ready times; what is here changes rarely, but for the flags.
type CPU struct {
	// The flags and segment bases, which most instructions touch, come before the engine: the host's code
	// for a field near the front is shorter.
	res uint64 // the arithmetic flags: see flags.go
	cy  uint64
	par uint16
	aux uint8
	// What host code leaves of the arithmetic flags beside res until they are asked for: see flags_lazy.go.
	lazy    lazy   `state:"-"`
	shifted uint8  `state:"-"`
	old     uint64 `state:"-"`
	ctl     uint64 // RFLAGS without the arithmetic bits; setCtl changes it
	// segBase has what is added to an address: the bases of seg where the mode uses them, zero for
	// segFlat.
	segBase [8]uint64

	engine.Engine[CPU, inst]

	fault              fault
	seg                [6]segment // in the manual's order: ES CS SS DS FS GS
	gdt, idt           table
	ldt, tr            segment
	cr0, cr2, cr3, cr4 uint64
	xcr0               uint64 // the parts of the state that xsave and its like manage
	dreg               [8]uint64
	msr                msrs
	// cpl is the level; setCPL changes it, because Core.User and the micro-TLBs follow.
	cpl        uint8
	holdTraps  bool // mov ss holds debug traps off until the next instruction is done
	nmi        bool // latched
	nmiBlocked bool // until the next iret
	long       bool // 64-bit code segment in long mode
	short16    bool // 16-bit code: see real.go
	stepTrap   bool // TF was set before the instruction that is stepped
	stepShadow bool // interrupts were held off before it
	stepResume bool // RF was set before it
	watchHit   uint64
	led        branch // what LastBranch does not know after a snapshot

	// What follows from the configuration, the mode and the control registers.
	event  [events]clock.Ticks
	tables pageFormat    `state:"-"`
	pages  mmu.PageSizes `state:"-"` // of the TLBs
	reset  func(*CPU)    `state:"-"`
	short  inst          // the operands that shortAddress shows

	pdptes      [4]uint64 // the first level of PAE's page tables
	identity    mmu.Page  // of the last address that was translated without paging
	physBits    uint8     // of a physical address
	hasLongMode bool
	// latest is, in machines of several CPUs, the time in cycles that any of them has read without the cost model; the
	// first one has it.
	latest     *int64 `state:"-"`
	latestRead int64
	aligned    bool // alignment is checked
	lent       bool `state:"-"` // the micro-TLB has pages of user mode for the supervisor, while AC is set
	fpu        fpu
	generator  *generator `state:"-"` // of host code
	answers    answers
	movs, stos repetition `state:"-"`
}

// creates makes CPUs that begin as the loader leaves them, or as Bus.Root says where that is Unpaged or RealMode.
func creates(isa *cpus.ISA, long bool, reset func(*CPU)) func(int, *cpus.Config, cpus.Bus) cpus.CPU {
	return func(n int, cfg *cpus.Config, bus cpus.Bus) cpus.CPU {
		return new(CPU).build(isa, n, cfg, bus, long, reset)
	}
}

// build makes the zero value a CPU.
func (c *CPU) build(isa *cpus.ISA, n int, cfg *cpus.Config, bus cpus.Bus, long bool, reset func(*CPU)) *CPU {
	c.reset, c.pages, c.hasLongMode, c.answers = reset, mmu.PageSizes{12, 21}, long, newAnswers(cfg, long)
	c.physBits = c.answers.physBits()
	switch bus.Root {
	case Unpaged:
		c.reset = (*CPU).resetUnpaged
	case RealMode:
		c.reset = (*CPU).resetReal
	}
	spec := engine.Spec{ISA: isa, MaxInsn: maxInsn, InOrder: startsRepeat(), Stack: rsp, Sink: rSink, Flags: 1<<rFlags | 1<<rPartial, Pages: c.pages}
	var share *engine.Engine[CPU, inst]
	if first, ok := bus.First.(*CPU); ok {
		share, c.latest = &first.Engine, &first.latestRead
		first.latest = c.latest
	}
	c.Setup(n, c, c, spec, cfg, bus, share)
	for i, name := range eventNames {
		c.event[i] = cfg.Events[name]
	}
	c.movs = newRepetition(cfg, "rep_movs", clRepMovsShort, clRepMovsLine)
	c.stos = newRepetition(cfg, "rep_stos", clRepStosShort, clRepStosLine)
	c.resetCommon()
	c.reset(c)
	c.setTables()
	return c
}

// reset64 gives the state in which a 64-bit kernel is entered: long mode with paging, as a boot
// loader that starts an ELF kernel leaves it. The modes before it are not modelled, so the reset of
// the manual (SDM vol. 3, 9.1) has no counterpart.
func (c *CPU) reset64() {
	c.long = true
	c.AddrMask = ^uint64(0)
	c.SwitchMode(0)
	c.cr4 = cr4PAE | cr4PGE
	c.msr.efer = eferSCE | eferLME | eferLMA | eferNXE
	c.seg[segCS] = segment{sel: 0x10, attr: flatCode64, limit: 0xfffff}
	for _, s := range []int{segES, segSS, segDS} {
		c.seg[s] = segment{sel: 0x18, attr: flatData, limit: 0xfffff}
	}
}

// resetCommon gives what both modes begin with. PAT has its value after a reset (SDM vol. 3,
// 11.12.4).
func (c *CPU) resetCommon() {
	c.cr0 = cr0PE | cr0ET | cr0WP | cr0PG | cr0NE
	c.cr3 = c.Bus.Root
	c.msr.pat = 0x0007040600070406
	c.msr.miscEnable = 1 // fast strings
	c.dreg[6] = dr6Ones
	c.dreg[7] = dr7Ones
	c.fpu = fpu{control: fcwPowerUp, mxcsr: mxcsrReset}
	c.xcr0 = partX87 // SDM vol. 1, 13.3
	c.res = 1
}

// Boot implements cpus.Probe.
func (c *CPU) Boot(entry, stack uint64, args ...uint64) {
	c.Start()
	c.R[rRIP], c.R[rsp] = entry, stack
	if c.short16 {
		c.beginReal(entry)
	}
	for i, a := range args {
		c.R[c.arguments()[i]] = a
	}
}

// argRegs64 are the integer argument registers of the System V ABI for x86-64, 3.2.3, argRegs32
// the registers of i386 code compiled with -mregparm=3.
var (
	argRegs64 = [...]uint8{rdi, rsi, rdx, rcx, r8, r9}
	argRegs32 = [...]uint8{rax, rdx, rcx}
)

// arguments are the registers of arguments in the code that the CPU executes. A kernel may have started it in another mode.
func (c *CPU) arguments() []uint8 {
	if c.long {
		return argRegs64[:]
	}
	return argRegs32[:]
}

// PC implements cpus.Context.
func (c *CPU) PC() uint64 { return c.R[rRIP] }

// SP implements cpus.Context.
func (c *CPU) SP() uint64 { return c.R[rsp] }

// Arg implements cpus.Context: argument i of a function at whose entry the CPU stands. Arguments
// behind those in registers are on the stack above the return address.
func (c *CPU) Arg(i int) uint64 {
	in := c.arguments()
	if i < len(in) {
		return c.R[in[i]]
	}
	pa, ok := c.Translate(c.R[rsp] + c.word()*uint64(1+i-len(in)))
	if !ok {
		return 0
	}
	return c.Memory.Load(binary.LittleEndian, pa, int(c.word()))
}

// Return implements cpus.Context: it pops the return address and sets the result register.
func (c *CPU) Return(v uint64) {
	if pa, ok := c.Translate(c.R[rsp]); ok {
		c.R[rRIP] = c.Memory.Load(binary.LittleEndian, pa, int(c.word()))
	}
	c.R[rsp] += c.word()
	c.R[rax] = v & c.AddrMask
	c.Unwind()
}

// Call implements cpus.Caller. The stack is aligned as the ABI asks.
func (c *CPU) Call(fn cpus.Entry, ret, below uint64, args ...uint64) (back uint64) {
	n, in := c.word(), c.arguments()
	frame := []uint64{ret}
	for i, a := range args {
		if i < len(in) {
			c.R[in[i]] = a & c.AddrMask
		} else {
			frame = append(frame, a)
		}
	}
	sp := (c.R[rsp]-64-below-n*uint64(len(frame)-1))&^15 - n
	for i, v := range frame {
		if pa, ok := c.Translate(sp + n*uint64(i)); ok {
			c.Memory.Store(binary.LittleEndian, pa, int(n), v)
		}
	}
	c.R[rsp] = sp
	c.R[rRIP] = fn.PC
	return sp + n
}

// Returned implements cpus.Caller: both ABIs return an integer in rax.
func (c *CPU) Returned(sp uint64) uint64 {
	c.R[rsp] = sp
	return c.R[rax]
}

// Signal implements cpus.Signals. There is one line, LineNMI.
func (c *CPU) Signal(int) {
	c.nmi = true
	c.Check |= engine.CheckInterrupts
}

// Reset implements cpus.Signals: the manual calls it INIT (SDM vol. 3, table 9-1, but with
// paging on, as Boot expects). The time-stamp counter goes on.
func (c *CPU) Reset() {
	c.Engine.Reset()
	c.cy, c.par, c.aux, c.ctl = 0, 0, 0, 0
	c.seg, c.segBase = [6]segment{}, [8]uint64{}
	c.gdt, c.idt, c.ldt, c.tr = table{}, table{}, segment{}, segment{}
	c.cr2, c.dreg = 0, [8]uint64{}
	c.msr = msrs{tscOffset: c.msr.tscOffset}
	c.cpl, c.holdTraps, c.stepTrap, c.stepShadow, c.stepResume = 0, false, false, false, false
	c.watchHit, c.nmi, c.nmiBlocked = 0, false, false
	c.fault = fault{}
	c.aligned = false
	c.resetCommon()
	c.reset(c)
	c.setTables()
	c.flushTLB(true)
	c.Park()
}

// Registers implements cpus.Probe.
func (c *CPU) Registers() []cpus.Register {
	var out []cpus.Register
	for i, n := range c.registerNames() {
		out = append(out, cpus.Register{Name: n, Value: c.R[i]})
	}
	return append(out,
		cpus.Register{Name: c.prefix() + "ip", Value: c.R[rRIP]},
		cpus.Register{Name: c.prefix() + "flags", Value: c.flags()},
		cpus.Register{Name: "cr0", Value: c.cr0}, cpus.Register{Name: "cr2", Value: c.cr2},
		cpus.Register{Name: "cr3", Value: c.cr3}, cpus.Register{Name: "cr4", Value: c.cr4},
		cpus.Register{Name: "dr6", Value: c.dreg[6]}, cpus.Register{Name: "dr7", Value: c.dreg[7]})
}
