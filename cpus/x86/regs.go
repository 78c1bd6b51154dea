package x86

import (
	"unsafe"

	"kprobesim/cpus/engine"
)

// Register numbers: the manual's order for the sixteen general registers, then the pseudo-registers
// of the cost model and the high bytes of the first four. The number is the one in ModRM, SIB and
// opcodes, extended by REX (SDM vol. 2, tables 2-2 and 3-1); a high byte shares the storage of its
// register.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
	rZero  // always zero: an absent operand
	rFlags // ready time of the arithmetic flags
	rSink  // written by instructions without a register result
	rAH    // bits 15:8 of rax; CH, DH, BH follow
	rCH
	rDH
	rBH
	rPartial // ready time of the arithmetic flags but the carry, as inc and dec leave them
	rAddress // the address of an operand that shortAddress cut off; nothing waits for it

	rXMM = 32 // ready times of the sixteen vector registers; their values are in CPU.fpu

	rRIP = engine.PC // the address of the next instruction: a base for relative operands
)

// regNames are the names in 64-bit mode; registerNames has the names in 32-bit mode.
var regNames = [16]string{
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
}

// width is an operand size. What is generic over it is compiled for each, and sizes are constants
// in it.
type width = engine.Width

// signed turns an operand into its value as a two's-complement number.
func signed[T width](v T) int64 {
	switch unsafe.Sizeof(v) {
	case 1:
		return int64(int8(v))
	case 2:
		return int64(int16(v))
	case 4:
		return int64(int32(v))
	}
	return int64(v)
}

// bitsOf returns the bits in an operand of v's type.
func bitsOf[T width](v T) uint { return 8 * uint(unsafe.Sizeof(v)) }

// get reads a register operand. The numbers of ah to bh occur with bytes only. "&63" lets the
// compiler see that the index is in range.
func get[T width](c *CPU, r uint8) T {
	var v T
	if unsafe.Sizeof(v) == 1 && r >= rAH {
		return T(c.R[(r-rAH)&63] >> 8)
	}
	return T(c.R[r&63])
}

// put writes a register operand: 32-bit results clear the upper half, narrower ones keep the rest
// (SDM vol. 1, 3.4.1.1). In 32-bit mode the upper half is always clear, so the rule changes nothing
// there.
func put[T width](c *CPU, r uint8, v T) {
	if unsafe.Sizeof(v) >= 4 {
		c.R[r&63] = uint64(v)
		return
	}
	c.putPart(r, uint64(v), uint64(1)<<bitsOf(v)-1)
}

// putPart writes the bits of a register that mask has: apart, so that put is inlined.
func (c *CPU) putPart(r uint8, v, mask uint64) {
	if mask == 0xff && r >= rAH {
		r, v, mask = r-rAH, v<<8, 0xff00
	}
	c.R[r&63] = c.R[r&63]&^mask | v
}

// src reads the source operand of the register forms: a register, or the immediate with rZero. One
// of the two is zero, so that a sum does for a choice.
func src[T width](c *CPU, in *inst) T { return get[T](c, in.src) + T(in.imm) }
