package arm

import (
	"encoding/binary"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Exceptions by their places in the vector table (ARM ARM, B1.8.1), in words.
const (
	vecReset = iota
	vecUndefined
	vecSupervisorCall
	vecPrefetchAbort
	vecDataAbort
	vecHypervisor // not modelled
	vecIRQ
	vecFIQ
	vectors
)

var vectorNames = [vectors]string{
	"reset", "undefined instruction", "supervisor call", "prefetch abort", "data abort", "hypervisor", "irq", "fiq",
}

// entries say for each exception which mode it enters, which interrupts it masks beside IRQ, and by how much
// the link register lies behind the instruction that it points at (ARM ARM, B1.8.3, table B1-7).
var entries = [vectors]struct {
	mode, masks uint32
	link        uint64
}{
	vecUndefined:      {modeUndefined, 0, 4},
	vecSupervisorCall: {modeSupervisor, 0, 4},
	vecPrefetchAbort:  {modeAbort, psrA, 4},
	vecDataAbort:      {modeAbort, psrA, 8},
	vecIRQ:            {modeIRQ, psrA, 4},
	vecFIQ:            {modeFIQ, psrA | psrF, 4},
}

// fault is an exception that waits for delivery. At most one waits, since the instruction that raises it
// ends.
type fault struct {
	vector   int
	undone   bool // the instruction has no effect and takes no time
	executed bool // the instruction took its time: the program counter is behind it
	probe    bool // of the permanently undefined instruction
}

// raise makes an exception pending that points at its instruction, which is undone.
func (c *CPU) raise(vector int) {
	c.fault = fault{vector: vector, undone: true}
	c.Stop |= engine.StopFault
}

// undefined raises an undefined-instruction exception for a word without meaning.
func undefined(c *CPU, _ *inst) {
	at := c.R[rPC] - insnBytes
	if pa, ok := c.Translate(at); ok {
		word := binary.LittleEndian.Uint32(c.Code(pa, insnBytes))
		if name := leftOut(word); name != "" {
			c.unmodelled("%s (%#x) at %#x", name, word, at)
		}
	}
	c.raise(vecUndefined)
}

// leftOut names what the architecture has at a word and this model lacks, or is empty.
func leftOut(word uint32) string {
	cp := word >> 8 & 15
	switch {
	case word>>28 == condNone && (word>>25&7 == 1 || word>>24&15 == 4 && word>>20&1 == 0):
		return "Advanced SIMD"
	case word>>26&3 == 3 && word>>24&15 != 15 && (cp == 10 || cp == 11):
		return "floating point"
	case word>>26&3 == 3 && word>>24&15 != 15:
		return fmt.Sprintf("coprocessor %d", cp)
	}
	return ""
}

func (c *CPU) unmodelled(format string, args ...any) {
	c.Counts.Unmodelled++
	c.Counts.LastUnknown = fmt.Sprintf(format, args...)
}

// privileged raises an undefined-instruction exception in user mode.
func (c *CPU) privileged() bool {
	if !c.User {
		return true
	}
	c.raise(vecUndefined)
	return false
}

// permanent is udf, with which probes mark instructions. It is executed and takes its time.
func permanent(c *CPU, _ *inst) {
	c.fault = fault{vector: vecUndefined, executed: true, probe: true}
	c.Stop |= engine.StopFault
}

func supervisorCall(c *CPU, _ *inst) {
	c.fault = fault{vector: vecSupervisorCall, executed: true}
	c.Stop |= engine.StopFault
}

// breakpoint is bkpt, which gives a prefetch abort when no debugger takes it (ARM ARM, C3).
func breakpoint(c *CPU, _ *inst) {
	c.ifsr = fsrDebug
	c.raise(vecPrefetchAbort)
}

// Poll implements engine.Exceptions: it takes an interrupt that is pending and enabled. A pending one ends a
// wait even when it is masked (ARM ARM, B1.8.14).
func (c *CPU) Poll() {
	c.Check = 0
	line := c.Bus.Interrupts != nil && c.Bus.Interrupts.Pending()
	if line || c.fast {
		c.Halted = false
	}
	switch {
	case c.fast && c.control&psrF == 0:
		c.fast = false
		c.deliver(fault{vector: vecFIQ}, cpus.Interrupted)
	case line && c.control&psrI == 0:
		c.deliver(fault{vector: vecIRQ}, cpus.Interrupted)
	}
}

// Faulted implements engine.Exceptions.
func (c *CPU) Faulted(*inst) bool { return c.fault.undone }

// Deliver implements engine.Exceptions: it delivers the exception in c.fault.
func (c *CPU) Deliver() {
	f := c.fault
	c.fault = fault{}
	c.Stop &^= engine.StopFault | engine.StopCode | engine.StopBlock
	kind := uint8(cpus.OtherException)
	if f.probe {
		kind = cpus.Breakpoint
	}
	c.deliver(f, kind)
}

// deliver enters the handler (ARM ARM, B1.8.3). The handlers' mode has A32 state, since SCTLR.TE is zero.
func (c *CPU) deliver(f fault, kind uint8) {
	name, event := vectorNames[f.vector], evFault
	switch {
	case kind == cpus.Interrupted:
		name, event = "", evInterrupt
	case f.vector == vecUndefined:
		event = evUndefined
	}
	c.Counts.Exceptions[f.vector]++
	c.EnterException(kind, c.event[event], name)
	e := entries[f.vector]
	at := c.R[rPC]
	if f.executed {
		at -= insnBytes
	}
	if f.vector == vecUndefined && c.control&psrT != 0 {
		at -= 2 // a Thumb instruction is half as long
	}
	c.SyncContext()
	c.OrderLoads()
	old := c.cpsr()
	c.entered = at
	c.setControl(old&^(psrMode|psrT) | psrI | e.masks | e.mode)
	*c.spsr() = old
	c.R[rLR] = (at + e.link) & c.AddrMask
	c.R[rPC] = c.vectorBase() + 4*uint64(f.vector)
}

// vectorBase is where the vector table stands (ARM ARM, B1.8.1).
func (c *CPU) vectorBase() uint64 {
	if c.sctlr&sctlrV != 0 {
		return 0xffff0000
	}
	return uint64(c.vbar)
}

// exceptionReturn goes on at an address with CPSR as SPSR has it, or as given by rfe.
func (c *CPU) exceptionReturn(to uint64, psr uint32) {
	// Kernels leave the mode of an exception by such an instruction too, in the middle of its handling. It
	// ends nothing unless it goes about where the exception came from.
	if c.control&psrMode == modeSupervisor || to-c.entered+8 <= 16 {
		c.ReturnFromException()
	}
	c.Stop |= engine.StopBlock
	c.sync()
	c.setCPSR(psr, ^uint32(0))
	c.Check |= engine.CheckState
	c.goTo(to)
}

// goTo continues at an address in the present state.
func (c *CPU) goTo(to uint64) {
	if c.control&psrT != 0 {
		c.R[rPC] = to &^ 1
		return
	}
	c.R[rPC] = to &^ 3
}

// BeginStep implements engine.Stepper: breakpoints are looked at, and instructions of Thumb state are not modelled.
func (c *CPU) BeginStep() bool {
	if c.Single&oneThumb == 0 {
		return !c.breakOnFetch()
	}
	c.unmodelled("Thumb state at %#x", c.R[rPC])
	c.raise(vecUndefined)
	c.Deliver()
	return false
}

// EndStep implements engine.Stepper.
func (c *CPU) EndStep(bool) bool { return false }

// EndsRun implements engine.Stepper.
func (c *CPU) EndsRun() bool { return c.Single&oneThumb != 0 }

// Masked implements engine.Stepper.
func (c *CPU) Masked() bool { return c.control&psrI != 0 }
