package arm

import (
	"encoding/binary"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// inst is the executed part of an instruction: the operands of its function. It is small, because every
// execution reads it.
type inst struct {
	imm uint32
	dst uint8 // the register that is written
	a   uint8 // Rn: first operand, base
	b   uint8 // second operand or index: Rm, the shifter's result, or the register that reads as zero
	s   uint8 // what is stored, accumulated or shifted
	sh  uint8 // shift count, or the register that has it; a bit number
	aux uint8 // kind of shift, width, mode
}

// exec is the function of an instruction.
type exec = func(*CPU, *inst)

// oneThumb in Core.Single: the state is Thumb, in which no instruction is modelled.
const oneThumb = 1

// oneMismatch in Core.Single: a breakpoint register waits for any instruction but the one at its address.
const oneMismatch = 2

// CPU is one processor. General registers are in Core.R; what is here changes rarely, but for the flags.
type CPU struct {
	flags
	// strict is all ones when unaligned accesses fault (SCTLR.A), else zero.
	strict uint64

	engine.Engine[CPU, inst]

	control uint32 // CPSR but its flags; setCPSR changes it
	sticky  uint32 // CPSR.Q in its place
	ge      uint32 // CPSR.GE
	banks   [banks]bank
	fiq     [5]uint64 // r8 to r12 of FIQ mode, or of the others while in it

	fault   fault
	entered uint64 // where the last delivery came from
	fast    bool   // a fast interrupt waits
	system
	inverted uint64 // bits in which physical addresses differ from where the machine has the byte
	timers
	debug debugRegisters

	cfg     *cpus.Config        `state:"-"`
	event   [events]clock.Ticks `state:"-"`
	machine *machine            `state:"-"`
}

// machine holds what the CPUs of one machine share.
type machine struct{ cpus []*CPU }

// build makes a CPU that waits to be booted. The configuration must have passed Check.
func build(isa *cpus.ISA, n int, cfg *cpus.Config, bus cpus.Bus) *CPU {
	c := &CPU{machine: new(machine), cfg: cfg}
	spec := engine.Spec{
		ISA: isa, MaxInsn: insnBytes, Stack: rSP, Sink: rSink, AddrMask: 1<<32 - 1,
		Pages: mmu.PageSizes{smallPage, largePage, section, supersection},
	}
	var share *engine.Engine[CPU, inst]
	if first, ok := bus.First.(*CPU); ok {
		share, c.machine = &first.Engine, first.machine
	}
	c.machine.cpus = append(c.machine.cpus, c)
	c.Setup(n, c, c, spec, cfg, bus, share)
	c.HasReservations()
	for i, name := range eventNames {
		c.event[i] = cfg.Events[name]
	}
	c.start()
	return c
}

// Unpaged is cpus.Bus.Root of a CPU that begins with translation and caches off. Its memory begins at base, which is a
// multiple of 4 KiB: such bits are inverted in physical addresses.
func Unpaged(base uint64) uint64 { return base | unpaged }

const unpaged = 1

// start gives the state in which a kernel is entered: supervisor mode with interrupts off, translation on
// by the tables of the bus, or off.
func (c *CPU) start() {
	c.control = modeSupervisor | psrA | psrI | psrF
	c.setNZCV(0)
	sctlr, root := uint32(sctlrFixed|sctlrM|sctlrC|sctlrI|sctlrZ), c.Bus.Root
	if root&unpaged != 0 {
		sctlr, root, c.inverted = sctlrFixed, 0, root&^unpaged
	}
	c.system = system{ttbr: [2]uint32{uint32(root)}, dacr: allClients}
	c.setSCTLR(sctlr)
	c.setControl(c.control)
	c.stopTimers()
	c.debug = debugRegisters{}
	c.arm()
}

// Boot implements cpus.Probe.
func (c *CPU) Boot(entry, stack uint64, args ...uint64) {
	c.Start()
	c.R[rPC], c.R[rSP] = entry&^3, stack
	copy(c.R[:argRegs], args)
}

// The calling convention (Procedure Call Standard for the ARM Architecture, IHI 0042): four arguments in r0
// to r3, the rest at the stack pointer, the result in r0.
const (
	argRegs   = 4
	frameArgs = 16            // words that Call keeps for further arguments
	frameLR   = 4 * frameArgs // above them, the link register over Call
	frameSize = frameLR + 8   // a multiple of eight
	maxArgs   = argRegs + frameArgs
)

// PC implements cpus.Context.
func (c *CPU) PC() uint64 { return c.R[rPC] }

// SP implements cpus.Context.
func (c *CPU) SP() uint64 { return c.R[rSP] }

// Arg implements cpus.Context: argument i of a function at whose entry the CPU stands.
func (c *CPU) Arg(i int) uint64 {
	if i < argRegs {
		return c.R[i]
	}
	return c.peek(c.R[rSP] + 4*uint64(i-argRegs))
}

// Return implements cpus.Context.
func (c *CPU) Return(v uint64) {
	c.R[0] = v & c.AddrMask
	c.R[rPC] = c.R[rLR] &^ 3
	c.Unwind()
}

// Call implements cpus.Caller. The new frame keeps the link register, which the native function that calls
// has still to return with. There may be at most maxArgs arguments.
func (c *CPU) Call(fn cpus.Entry, ret, below uint64, args ...uint64) (back uint64) {
	if len(args) > maxArgs {
		panic(fmt.Sprintf("arm: a call with %d arguments", len(args)))
	}
	sp := (c.R[rSP] - below - frameSize) & c.AddrMask &^ 7
	c.poke(sp+frameLR, c.R[rLR])
	for i, a := range args {
		if i < argRegs {
			c.R[i] = a & c.AddrMask
		} else {
			c.poke(sp+4*uint64(i-argRegs), a)
		}
	}
	c.R[rSP], c.R[rLR], c.R[rPC] = sp, ret, fn.PC
	return sp
}

// Returned implements cpus.Caller.
func (c *CPU) Returned(sp uint64) uint64 {
	c.R[rLR] = c.peek(c.R[rSP] + frameLR)
	c.R[rSP] = sp
	return c.R[0]
}

// peek and poke access a word of the stack from outside of the guest; an address that is not mapped reads as
// zero.
func (c *CPU) peek(va uint64) uint64 {
	if pa, ok := c.Translate(va); ok {
		return c.Memory.Load(binary.LittleEndian, pa, 4)
	}
	return 0
}

func (c *CPU) poke(va, v uint64) {
	if pa, ok := c.Translate(va); ok {
		c.Memory.Store(binary.LittleEndian, pa, 4, v)
	}
}

// Signal implements cpus.Signals.
func (c *CPU) Signal(line int) {
	if line == LineFIQ {
		c.fast = true
	}
	c.Check |= engine.CheckInterrupts
}

// Reset implements cpus.Signals. The counter goes on.
func (c *CPU) Reset() {
	c.Engine.Reset()
	c.fault, c.banks, c.fiq = fault{}, [banks]bank{}, [5]uint64{}
	c.DropReservation()
	c.sticky, c.ge, c.entered, c.fast = 0, 0, 0, false
	c.flushTLB()
	c.start()
	c.Park()
}

// Registers implements cpus.Probe.
func (c *CPU) Registers() []cpus.Register {
	var out []cpus.Register
	for i, n := range generalNames {
		out = append(out, cpus.Register{Name: n, Value: c.R[i]})
	}
	out = append(out, cpus.Register{Name: "pc", Value: c.R[rPC]}, cpus.Register{Name: "cpsr", Value: uint64(c.cpsr())})
	if s := c.spsr(); s != nil {
		out = append(out, cpus.Register{Name: "spsr", Value: uint64(*s)})
	}
	return append(out,
		cpus.Register{Name: "dfsr", Value: uint64(c.dfsr)}, cpus.Register{Name: "dfar", Value: uint64(c.dfar)},
		cpus.Register{Name: "ifsr", Value: uint64(c.ifsr)}, cpus.Register{Name: "ifar", Value: uint64(c.ifar)})
}

var generalNames = [15]string{
	"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr",
}
