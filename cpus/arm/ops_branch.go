package arm

import (
	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Branches (ARM ARM, A5.5). While an instruction executes, the program counter holds the address of the one
// behind it.

func jump(c *CPU, in *inst) { c.Jump(uint64(int32(in.imm))) }

func call(c *CPU, in *inst) {
	next := c.R[rPC]
	c.R[rLR] = next & c.AddrMask
	c.Called(next)
	c.Jump(uint64(int32(in.imm)))
}

func callWhen(c *CPU, in *inst) {
	next, taken := c.R[rPC], c.holds(in.aux)
	if taken {
		c.R[rLR] = next & c.AddrMask
		c.Called(next)
	}
	c.Conditional(taken, uint64(int32(in.imm)))
}

func jumpWhen(c *CPU, in *inst) { c.Conditional(c.holds(in.aux), uint64(int32(in.imm))) }

// branchTo goes to a computed address. Its lowest bit chooses the state (ARM ARM, BXWritePC).
func (c *CPU) branchTo(to uint64) {
	c.exchange(to)
	c.Indirect(to &^ 3)
	c.land(to)
}

// returnTo is branchTo for a return from a call.
func (c *CPU) returnTo(to uint64) {
	c.exchange(to)
	c.ReturnTo(to &^ 3)
	c.land(to)
}

func (c *CPU) exchange(to uint64) {
	if to&1 != 0 {
		c.setControl(c.control | psrT)
		c.Stop |= engine.StopBlock
	}
}

// land keeps the half word that a Thumb address has.
func (c *CPU) land(to uint64) {
	if to&1 != 0 {
		c.R[rPC] = to &^ 1
	}
}

func bx(c *CPU, in *inst) { c.branchTo(c.R[in.b&63]) }
func returnLR(c *CPU, _ *inst) {
	to := c.R[rLR]
	if to&3 == 0 { // what returnTo comes to
		c.ReturnTo(to)
		return
	}
	c.returnTo(to)
}

func blx(c *CPU, in *inst) {
	next, to := c.R[rPC], c.R[in.b&63]
	c.branchTo(to)
	c.Called(next)
	c.R[rLR] = next & c.AddrMask
}

// blxImmediate calls code in Thumb state; sh is the bit of the half word.
func blxImmediate(c *CPU, in *inst) {
	next := c.R[rPC]
	c.R[rLR] = next & c.AddrMask
	c.Called(next)
	c.Jump(uint64(int32(in.imm) + int32(in.sh)))
	c.exchange(1)
}

func nop(*CPU, *inst) {}

// mark tells of a mark, with its number as the option. On hardware the hint tells a debugger, if there is one (ARM ARM, A8.8.42).
func mark(c *CPU, in *inst) {
	if c.Bus.Marked != nil && c.Bus.Marked(c.Num, uint64(in.aux)) {
		c.Exit(cpus.Exit{Reason: cpus.Broken})
	}
}
