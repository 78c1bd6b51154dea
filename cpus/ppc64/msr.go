package ppc64

import (
	"kprobesim/cpus/engine"
)

// Bits of MSR (Book III, Machine State Register).
const (
	msrSF  = 1 << 63
	msrHV  = 1 << 60
	msrPOW = 1 << 18
	msrEE  = 1 << 15
	msrPR  = 1 << 14
	msrFP  = 1 << 13
	msrME  = 1 << 12
	msrFE0 = 1 << 11
	msrSE  = 1 << 10
	msrBE  = 1 << 9
	msrFE1 = 1 << 8
	msrIR  = 1 << 5
	msrDR  = 1 << 4
	msrPMM = 1 << 2
	msrRI  = 1 << 1

	// msrMask has the bits that exist here. HV stays what it is.
	msrMask = msrSF | msrEE | msrPR | msrFP | msrME | msrFE0 | msrSE | msrBE | msrFE1 | msrIR | msrDR | msrPMM | msrRI
)

// setMSR changes MSR and what follows from it: the width of addresses and results, whose rights count,
// and whether instructions are executed one by one.
func (c *CPU) setMSR(v uint64) {
	old := c.msr
	c.msr = v & (msrMask | msrHV)
	c.narrow, c.AddrMask = 0, ^uint64(0)
	if v&msrSF == 0 {
		c.narrow, c.AddrMask = 32, 1<<32-1
	}
	c.Single = uint32(v & (msrSE | msrBE))
	c.User = v&msrPR != 0
	if (old^c.msr)&(msrPR|msrIR|msrDR) != 0 { // SF decides no translation, because addresses have its width before
		c.SwitchTranslations(uint8(c.msr>>4&3 | c.msr>>12&4)) // DR and IR, PR
	}
}

// withProblemState is a new value of MSR with what its bit PR implies: interrupts and translation on.
func withProblemState(v uint64) uint64 {
	if v&msrPR != 0 {
		v |= msrEE | msrIR | msrDR
	}
	return v
}

func mfmsr(c *CPU, in *inst) {
	if c.privileged() {
		c.R[in.dst&63] = c.msr
	}
}

// mtmsrd changes MSR, with L = 1 only EE and RI (Book III, Move To Machine State Register Doubleword).
// Setting POW waits for an interrupt.
func mtmsrd(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	v := c.R[in.a&63]
	if in.aux != 0 {
		const partly = msrEE | msrRI
		c.changeMSR(c.msr&^partly | v&partly)
		return
	}
	c.changeMSR(withProblemState(v)&^msrHV | c.msr&msrHV)
	c.nap(v)
}

// mtmsr is mtmsrd of the lower half.
func mtmsr(c *CPU, in *inst) {
	if !c.privileged() {
		return
	}
	v := c.R[in.a&63]
	if in.aux != 0 {
		mtmsrd(c, in)
		return
	}
	const upper = 0xffffffff_00000000
	c.changeMSR(c.msr&upper | withProblemState(v)&^upper)
	c.nap(v)
}

// nap waits for an interrupt when POW is set. There is no trace interrupt behind that.
func (c *CPU) nap(v uint64) {
	if v&msrPOW != 0 {
		c.Halted, c.untraced = true, true
	}
}

func (c *CPU) changeMSR(v uint64) {
	c.setMSR(v)
	c.Stop |= engine.StopBlock
	c.Check |= engine.CheckState
}

// Synchronize counts an instruction behind which nothing is executed that was fetched before.
func (c *CPU) Synchronize() {
	c.Counts.ContextSyncs++
	c.SyncContext()
	c.OrderByControl()
}

func isync(c *CPU, _ *inst) {
	c.Synchronize()
	c.Stop |= engine.StopBlock
}
