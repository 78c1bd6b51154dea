package ppc64

import (
	"encoding/binary"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// inst is the executed part of an instruction: the operands of its function. It is small, because every
// execution reads it.
type inst struct {
	imm uint64
	dst uint8 // the register that is written: RT, RA of logical instructions, a field of CR
	a   uint8 // first source: RA or zero, RS of logical instructions
	b   uint8 // second source: RB, or the register that reads as zero
	s   uint8 // what is stored: RS
	sh  uint8 // shift count, bit of a field, number of bytes
	aux uint8 // TO, BO, FXM
}

// exec is the function of an instruction.
type exec = func(*CPU, *inst)

// CPU is one processor. General registers and what else has a ready time are in Core.R; what is here
// changes rarely.
type CPU struct {
	// narrow is the shift to the left of a result by which the sign of the mode's width is bit 63: 32 in
	// 32-bit mode.
	narrow uint64

	engine.Engine[CPU, inst]

	fault   fault
	msr     uint64 // setMSR changes it
	srr     [2]uint64
	sprg    [4]uint64
	dar     uint64
	dsisr   uint64
	dabr    uint64
	sdr1    uint64
	asr     uint64
	ctrl    uint64
	hid     [2]uint64
	slb     [slbEntries]slbEntry
	slbNext int // the entry that answered last
	timers
	reset bool // a system reset waits

	entered   [2]uint64 // SRR0 and SRR1 of the last delivery
	traced    uint64    // MSR before the instruction that is stepped
	tracedPC  uint64
	untraced  bool // it was one behind which there is no trace interrupt
	lineShift uint

	event   [events]clock.Ticks
	machine *machine
}

// machine holds what the CPUs of one machine share.
type machine struct {
	cpus []*CPU
	wide bool // a segment had a number that tlbie cannot name
}

// build makes a CPU that waits to be booted. The configuration must have passed Check.
func build(isa *cpus.ISA, n int, cfg *cpus.Config, bus cpus.Bus) *CPU {
	c := &CPU{machine: new(machine)}
	spec := engine.Spec{
		ISA: isa, MaxInsn: insnBytes, Align: 2, InOrder: []uint8{clLoadMultiple, clLoadString}, Stack: rSP, Sink: rSink, Swapped: true,
		AddrMask: ^uint64(0), Pages: mmu.PageSizes{basePage, largePage},
	}
	var share *engine.Engine[CPU, inst]
	if first, ok := bus.First.(*CPU); ok {
		share, c.machine = &first.Engine, first.machine
	}
	c.machine.cpus = append(c.machine.cpus, c)
	c.Setup(n, c, c, spec, cfg, bus, share)
	c.HasReservations()
	for c.lineShift = 0; 1<<c.lineShift < cfg.L1D.Line; c.lineShift++ {
	}
	for i, name := range eventNames {
		c.event[i] = cfg.Events[name]
	}
	c.stopDecrementer()
	c.start()
	return c
}

// start gives the state in which a kernel is entered: supervisor, 64-bit mode, translation on by the
// tables of the bus.
func (c *CPU) start() {
	c.sdr1 = c.Bus.Root
	c.loadSegments()
	c.setMSR(msrSF | msrME | msrIR | msrDR | msrRI)
}

// Boot implements cpus.Probe.
func (c *CPU) Boot(entry, stack uint64, args ...uint64) {
	c.Start()
	c.R[rPC], c.R[rSP] = entry&^3, stack
	for i, a := range args {
		c.R[firstArg+i] = a
	}
}

// The calling convention (64-bit PowerPC ELF ABI Supplement 1.9, chapter 3): eight arguments in r3 to r10,
// the rest in the caller's frame behind the place of those, the result in r3. Below the stack pointer
// are 288 bytes that a leaf function may use.
const (
	firstArg  = 3
	argRegs   = 8
	result    = 3
	frameLR   = 24 // a doubleword that is reserved for compilers holds the link register over Call
	frameTOC  = 40
	frameArgs = 48
	redZone   = 288
)

// PC implements cpus.Context.
func (c *CPU) PC() uint64 { return c.R[rPC] }

// SP implements cpus.Context.
func (c *CPU) SP() uint64 { return c.R[rSP] }

// Arg implements cpus.Context: argument i of a function at whose entry the CPU stands.
func (c *CPU) Arg(i int) uint64 {
	if i < argRegs {
		return c.R[firstArg+i]
	}
	return c.peek(c.R[rSP] + frameArgs + 8*uint64(i))
}

// Return implements cpus.Context.
func (c *CPU) Return(v uint64) {
	c.R[result] = v
	c.R[rPC] = c.R[rLR] & c.AddrMask &^ 3
	c.Unwind()
}

// Call implements cpus.Caller. The new frame keeps the link register and the table of contents, which the
// native function that calls has still to return with.
func (c *CPU) Call(fn cpus.Entry, ret, below uint64, args ...uint64) (back uint64) {
	size := uint64(frameArgs + 8*max(len(args), argRegs))
	sp := (c.R[rSP] - redZone - below - size) &^ 15
	c.poke(sp, c.R[rSP])
	c.poke(sp+frameLR, c.R[rLR])
	c.poke(sp+frameTOC, c.R[rTOC])
	for i, a := range args {
		if i < argRegs {
			c.R[firstArg+i] = a
		} else {
			c.poke(sp+frameArgs+8*uint64(i), a)
		}
	}
	c.R[rSP], c.R[rLR], c.R[rPC], c.R[rTOC] = sp, ret, fn.PC, fn.TOC
	return sp
}

// Returned implements cpus.Caller.
func (c *CPU) Returned(sp uint64) uint64 {
	c.R[rLR] = c.peek(c.R[rSP] + frameLR)
	c.R[rTOC] = c.peek(c.R[rSP] + frameTOC)
	c.R[rSP] = sp
	return c.R[result]
}

// peek and poke access a doubleword of the stack from outside of the guest; an address that is not mapped
// reads as zero.
func (c *CPU) peek(va uint64) uint64 {
	if pa, ok := c.Translate(va); ok {
		return c.Memory.Load(binary.BigEndian, pa, 8)
	}
	return 0
}

func (c *CPU) poke(va, v uint64) {
	if pa, ok := c.Translate(va); ok {
		c.Memory.Store(binary.BigEndian, pa, 8, v)
	}
}

// Signal implements cpus.Signals.
func (c *CPU) Signal(line int) {
	switch line {
	case LineReset:
		c.reset = true
	case LineExpire:
		if c.expires != never {
			c.expires = min(c.expires, c.Now())
		}
	}
	c.Check |= engine.CheckInterrupts
}

// Reset implements cpus.Signals. The time base goes on.
func (c *CPU) Reset() {
	c.Engine.Reset()
	c.fault = fault{}
	c.DropReservation()
	c.srr, c.sprg, c.hid, c.entered = [2]uint64{}, [4]uint64{}, [2]uint64{}, [2]uint64{}
	c.dar, c.dsisr, c.dabr, c.asr, c.ctrl = 0, 0, 0, 0, 0
	c.reset, c.untraced, c.traced = false, false, 0
	c.stopDecrementer()
	c.flush()
	c.start()
	c.Park()
}

// Registers implements cpus.Probe.
func (c *CPU) Registers() []cpus.Register {
	var out []cpus.Register
	for i, n := range generalNames {
		out = append(out, cpus.Register{Name: n, Value: c.R[i]})
	}
	return append(out,
		cpus.Register{Name: "pc", Value: c.R[rPC]}, cpus.Register{Name: "cr", Value: c.cr()},
		cpus.Register{Name: "xer", Value: c.xer()},
		cpus.Register{Name: "lr", Value: c.R[rLR]}, cpus.Register{Name: "ctr", Value: c.R[rCTR]},
		cpus.Register{Name: "msr", Value: c.msr},
		cpus.Register{Name: "srr0", Value: c.srr[0]}, cpus.Register{Name: "srr1", Value: c.srr[1]},
		cpus.Register{Name: "dar", Value: c.dar}, cpus.Register{Name: "dsisr", Value: c.dsisr})
}

var generalNames = [32]string{
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
}
