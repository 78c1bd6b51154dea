package ppc64

import "kprobesim/cpus/engine"

// Register numbers in Core.R: the general registers, then what else has a ready time.
const (
	rZero = iota + 32 // always zero: an absent operand
	rSink             // written by instructions without a result
	rLR
	rCTR
	rCA  // XER.CA as a number
	rXER // the rest of XER: SO, OV and the byte count of string instructions
	rCR0 // fields of the condition register, the first in the lowest number; four bits each
	rCR1
	rCR2
	rCR3
	rCR4
	rCR5
	rCR6
	rCR7

	rSP  = 1
	rTOC = 2
	rPC  = engine.PC
)

// Bits of a field of the condition register (Book I, Condition Register).
const (
	crLT = 8
	crGT = 4
	crEQ = 2
	crSO = 1
)

// Bits of XER (Book I, Fixed-Point Exception Register).
const (
	xerSO    = 1 << 31
	xerOV    = 1 << 30
	xerCA    = 1 << 29
	xerCount = 0x7f
)

// xer and setXER access XER as the manual lays it out. Reserved bits are zero.
func (c *CPU) xer() uint64 { return c.R[rXER] | c.R[rCA]*xerCA }

func (c *CPU) setXER(v uint64) {
	c.R[rXER] = v & (xerSO | xerOV | xerCount)
	c.R[rCA] = v / xerCA & 1
}

// cr and setCR access the condition register as one word.
func (c *CPU) cr() uint64 {
	var v uint64
	for i := range uint64(8) {
		v = v<<4 | c.R[rCR0+i]
	}
	return v
}

// setCR writes the fields that mask selects, bit 7 for field 0.
func (c *CPU) setCR(v uint64, mask uint8) {
	for i := range 8 {
		if mask>>(7-i)&1 != 0 {
			c.R[rCR0+i] = v >> (28 - 4*i) & 0xf
		}
	}
}

// summary is XER.SO in the place that it has in a field of the condition register.
func (c *CPU) summary() uint64 { return c.R[rXER] >> 31 & 1 }
