package ppc64

import (
	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Hypervisor is implemented by a board's device beside cpus.Device: it answers sc with LEV 1. Without
// it that instruction is illegal.
type Hypervisor interface {
	// Hypercall is given r3 to r12, with the function in the first, and leaves the results there. problem
	// says that the caller is in problem state.
	Hypercall(r *[HypercallRegisters]uint64, problem bool) Answer
}

// HypercallRegisters is the number of registers, from r3 on, that a call may use. What a hypervisor may
// destroy beside its results stays as it is here.
const HypercallRegisters = 10

// Answer says what becomes of a call.
type Answer uint8

// Answers.
const (
	Answered Answer = iota
	Waits           // the CPU waits for an interrupt, with interrupts enabled
	Stopped         // the CPU was reset: nothing of it is as it was
	Watches         // r4 had what the data address breakpoint register is to hold
	Unknown         // there is no such call, and the registers say so: it is counted as not modelled
)

// hypercall has the hypervisor answer. The call takes the time of its event first, so that what it does to
// others happens at its end. SRR0 and SRR1 are lost, as an interrupt leads to the hypervisor. It may stop
// the CPU and plan events, so the machine looks around before the next instruction.
func (c *CPU) hypercall(h Hypervisor) {
	c.srr = [2]uint64{c.R[rPC], c.msr &^ srr1Reasons}
	c.Drain(c.event[evHypercall])
	var r [HypercallRegisters]uint64
	copy(r[:], c.R[result:])
	number := r[0]
	answer := h.Hypercall(&r, c.User)
	c.Exit(cpus.Exit{Reason: cpus.Limit})
	if answer == Stopped {
		return
	}
	dabr := c.R[result+1]
	copy(c.R[result:], r[:])
	switch answer {
	case Waits:
		c.setMSR(c.msr | msrEE)
		c.Check |= engine.CheckState
		c.nap(msrPOW)
	case Watches:
		c.setDABR(dabr)
	case Unknown:
		c.unmodelled("hypervisor call %#x at %#x", number, c.R[rPC]-insnBytes)
	}
}
