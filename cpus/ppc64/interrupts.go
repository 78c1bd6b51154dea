package ppc64

import (
	"encoding/binary"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Interrupt vectors (Book III, Interrupt Definitions), which are also the handlers' real addresses.
const (
	vecReset        = 0x100
	vecMachineCheck = 0x200
	vecData         = 0x300
	vecDataSegment  = 0x380
	vecInst         = 0x400
	vecInstSegment  = 0x480
	vecExternal     = 0x500
	vecAlignment    = 0x600
	vecProgram      = 0x700
	vecFloat        = 0x800
	vecDecrementer  = 0x900
	vecSyscall      = 0xc00
	vecTrace        = 0xd00
)

// vectorShift turns a vector into its number in ISA.Exceptions.
const vectorShift = 5

// vectorName names a vector.
func vectorName(vec uint64) string {
	switch vec {
	case vecReset:
		return "system reset"
	case vecMachineCheck:
		return "machine check"
	case vecData:
		return "data storage"
	case vecDataSegment:
		return "data segment"
	case vecInst:
		return "instruction storage"
	case vecInstSegment:
		return "instruction segment"
	case vecExternal:
		return "external"
	case vecAlignment:
		return "alignment"
	case vecProgram:
		return "program"
	case vecFloat:
		return "floating-point unavailable"
	case vecDecrementer:
		return "decrementer"
	case vecSyscall:
		return "system call"
	case vecTrace:
		return "trace"
	}
	return fmt.Sprintf("interrupt %#x", vec)
}

func exceptionNames() []string {
	names := make([]string, cpus.MaxExceptions)
	for i := range names {
		names[i] = vectorName(uint64(i) << vectorShift)
	}
	return names
}

// Bits of SRR1 that say why (Book III, Interrupt Definitions). An interrupt clears the others of
// srr1Reasons.
const (
	srr1Illegal    = 1 << 19
	srr1Privileged = 1 << 18
	srr1Trap       = 1 << 17
	srr1NotFound   = 1 << 30 // instruction storage: no translation
	srr1NoExecute  = 1 << 28
	srr1Protected  = 1 << 27
	srr1Reasons    = 0x783f0000
)

// Bits of DSISR of a data storage interrupt.
const (
	dsisrNotFound  = 1 << 30
	dsisrProtected = 1 << 27
	dsisrStore     = 1 << 25
	dsisrDABR      = 1 << 22
)

// fault is an exception that waits for delivery. At most one waits, since the instruction that raises
// it ends.
type fault struct {
	vector uint64
	reason uint64     // bits of SRR1
	behind bool       // SRR0 is the instruction behind
	undone bool       // the instruction has no effect and takes no time
	call   Hypervisor // not nil: no interrupt, but a call that this one answers
}

// raise makes an exception pending that points at its instruction, which is undone.
func (c *CPU) raise(vector, reason uint64) {
	c.fault = fault{vector: vector, reason: reason, undone: true}
	c.Stop |= engine.StopFault
}

// trap raises the program interrupt of a trap instruction. The instruction points at itself, but it has
// been executed: it takes its time.
func (c *CPU) trap() {
	c.fault = fault{vector: vecProgram, reason: srr1Trap}
	c.Stop |= engine.StopFault
}

// illegal raises a program interrupt for a word without meaning. What the architecture has and this model
// lacks is counted.
func illegal(c *CPU, _ *inst) {
	at := c.R[rPC] - insnBytes
	if word, ok := c.word(at); ok {
		if floating(word) && c.msr&msrFP == 0 {
			c.raise(vecFloat, 0)
			return
		}
		if x, known := operation(word); known {
			c.unmodelled("%s at %#x", x, at)
		}
	}
	c.raise(vecProgram, srr1Illegal)
}

// word is the instruction at an address as the CPU executes it.
func (c *CPU) word(va uint64) (word uint32, ok bool) {
	pa, ok := c.Translate(va)
	if code := c.Code(pa, insnBytes); ok && code != nil {
		return binary.BigEndian.Uint32(code), true
	}
	return 0, false
}

func (c *CPU) unmodelled(format string, args ...any) {
	c.Counts.Unmodelled++
	c.Counts.LastUnknown = fmt.Sprintf(format, args...)
}

// floating reports a floating-point instruction: the loads and stores of opcodes 48 to 55 and the
// arithmetic of 59 and 63.
func floating(word uint32) bool {
	switch opcode := word >> 26; opcode {
	case 59, 63:
		return true
	default:
		return opcode >= 48 && opcode <= 55
	}
}

// aligned raises an alignment interrupt for an operand of load and reserve or store conditional that is
// not on its boundary.
func (c *CPU) aligned(va, size uint64) bool {
	if va&(size-1) == 0 {
		return true
	}
	c.dar = va
	c.dsisr = 0
	if word, ok := c.word(c.R[rPC] - insnBytes); ok {
		c.dsisr = alignmentStatus(word)
	}
	c.raise(vecAlignment, 0)
	return false
}

// alignmentStatus returns DSISR for an indexed instruction (Book III, Alignment Interrupt): bits 29
// and 30, 25, 21 to 24 of the instruction, and its fields RT and RA.
func alignmentStatus(word uint32) uint64 {
	w := uint64(word)
	return w>>1&3<<15 | w>>6&1<<14 | w>>7&0xf<<10 | w>>21&31<<5 | w>>16&31
}

// privileged raises a privileged-instruction program interrupt in problem state.
func (c *CPU) privileged() bool {
	if c.msr&msrPR == 0 {
		return true
	}
	c.raise(vecProgram, srr1Privileged)
	return false
}

// Poll implements engine.Exceptions: it takes an interrupt that is pending and enabled, in the order of
// Book III, Interrupt Priorities.
func (c *CPU) Poll() {
	c.Check = 0
	ic := c.Bus.Interrupts
	switch {
	case c.reset:
		c.reset = false
		c.asynchronous(vecReset)
	case c.msr&msrEE == 0: // what sets it sets Check again
	case ic != nil && ic.Pending():
		c.asynchronous(vecExternal)
	case c.expired():
		c.taken()
		c.asynchronous(vecDecrementer)
	}
}

// asynchronous delivers an interrupt between instructions. The controller is left to the guest, which asks
// its registers.
func (c *CPU) asynchronous(vector uint64) {
	c.Halted = false
	c.deliver(fault{vector: vector, behind: true}, cpus.Interrupted)
}

// Faulted implements engine.Exceptions.
func (c *CPU) Faulted(*inst) bool { return c.fault.undone }

// Deliver implements engine.Exceptions: it delivers the exception in c.fault.
func (c *CPU) Deliver() {
	f := c.fault
	c.fault = fault{}
	c.Stop &^= engine.StopFault | engine.StopCode | engine.StopBlock
	if f.call != nil {
		c.hypercall(f.call)
		return
	}
	kind := uint8(cpus.OtherException)
	if f.reason&srr1Trap != 0 {
		kind = cpus.Breakpoint
	}
	c.deliver(f, kind)
}

// deliver enters the handler (Book III, Interrupt Processing): it runs in real, 64-bit supervisor mode.
// An instruction that has been executed and is pointed at is the one before the program counter.
func (c *CPU) deliver(f fault, kind uint8) {
	at := c.R[rPC]
	if !f.undone && !f.behind {
		at -= insnBytes
	}
	name := vectorName(f.vector)
	if kind == cpus.Interrupted {
		name = ""
	}
	c.Counts.Exceptions[f.vector>>vectorShift]++
	c.EnterException(kind, c.event[deliveryOf(kind)], name)
	c.srr = [2]uint64{at, c.msr&^srr1Reasons | f.reason}
	c.entered = c.srr
	c.SyncContext()
	c.OrderLoads()
	c.setMSR(c.msr&(msrME|msrHV) | msrSF)
	c.R[rPC] = f.vector
}

func deliveryOf(kind uint8) int {
	switch kind {
	case cpus.Interrupted:
		return evInterrupt
	case cpus.Breakpoint:
		return evTrap
	case cpus.SingleStep:
		return evTrace
	}
	return evFault
}

// systemCall raises a system call interrupt, or calls the hypervisor if there is one.
func systemCall(c *CPU, in *inst) {
	h, ok := c.Bus.Device.(Hypervisor)
	switch {
	case in.aux == levHypervisor && ok:
		c.fault = fault{call: h}
		c.Stop |= engine.StopFault
		return
	case in.aux != 0:
		c.unmodelled("sc %d at %#x", in.aux, c.R[rPC]-insnBytes)
		c.raise(vecProgram, srr1Illegal)
		return
	}
	c.fault = fault{vector: vecSyscall, behind: true}
	c.Stop |= engine.StopFault
}

// levHypervisor is the field LEV of sc that calls the hypervisor (Book III, System Call Instruction).
const levHypervisor = 1

// rfid returns from an interrupt (Book III, Branch Processor Instructions). Kernels use it also to turn
// translation on in the middle of one: an rfid that is executed in real mode and goes elsewhere than the
// last delivery came from ends nothing.
func rfid(c *CPU, _ *inst) {
	if !c.privileged() {
		return
	}
	if c.msr&msrIR != 0 || c.srr == c.entered {
		c.ReturnFromException()
	} else {
		c.Stop |= engine.StopBlock
	}
	c.untraced = true
	c.Synchronize()
	c.setMSR(withProblemState(c.srr[1]))
	c.R[rPC] = c.srr[0] & c.AddrMask &^ 3
	c.Check |= engine.CheckState
}

// BeginStep implements engine.Stepper.
func (c *CPU) BeginStep() bool {
	c.traced, c.tracedPC, c.untraced = c.msr&(msrSE|msrBE), c.R[rPC], false
	return true
}

// EndsRun implements engine.Stepper.
func (c *CPU) EndsRun() bool { return true }

// EndStep implements engine.Stepper: a trace interrupt follows an instruction that has completed with
// MSR.SE set, or a branch with MSR.BE set, but not rfid (Book III, Trace Interrupt). What the bits were
// before the instruction counts.
func (c *CPU) EndStep(completed bool) bool {
	traced := c.traced
	c.traced = 0
	if !completed || c.untraced || traced&msrSE == 0 && (traced&msrBE == 0 || !c.isBranch(c.tracedPC)) {
		return false
	}
	c.deliver(fault{vector: vecTrace, behind: true}, cpus.SingleStep)
	return true
}

// isBranch reports whether the instruction at an address is a branch.
func (c *CPU) isBranch(va uint64) bool {
	word, ok := c.word(va)
	opcode, ext := word>>26, word>>1&0x3ff
	return ok && (opcode == 16 || opcode == 18 || opcode == 19 && (ext == 16 || ext == 528))
}

// Masked implements engine.Stepper.
func (c *CPU) Masked() bool { return c.msr&msrEE == 0 }
