package arm

import (
	"math/bits"

	"kprobesim/cpus/engine"
)

// Binding of operands, by form. Each function fills the operands and the registers that the engine waits
// for; false means that the encoding is unpredictable.

// endsBranch are the flags of what changes nothing but where execution goes on, beside registers.
const endsBranch = engine.Ends | engine.Branches

func formNone(*decoder, *row) bool { return true }

// formBarrier has the option of a barrier or a mark in aux.
func formBarrier(d *decoder, _ *row) bool {
	d.in.aux = d.field(0, 4)
	return true
}

// dataOp is an operation of data-processing instructions: its functions, and what it reads.
type dataOp struct {
	name        string
	plain, sets exec // without and with S
	logical     bool // its carry is the shifter's
	first       bool // reads Rn
	carry       bool // reads C
	compares    bool // has no result, and S always
}

// first binds Rn. The program counter reads as the address of the instruction and eight.
func (d *decoder) first(r uint8) {
	if r == pcNumber {
		d.in.a = rHere
		d.exec = here(d.exec)
		return
	}
	d.in.a = r
	d.waits(r)
}

// here puts the program counter where an operand can be.
func here(f exec) exec {
	return func(c *CPU, in *inst) {
		c.R[rHere] = (c.R[rPC] + 4) & c.AddrMask
		f(c, in)
	}
}

// operation binds all but the second operand, whose shifter is already part of the function.
func (d *decoder) operation(k *dataOp) bool {
	d.exec = k.plain
	if d.bit(20) {
		d.exec = k.sets
		d.sets(rFlags)
	}
	if k.carry {
		d.waits(rFlags)
	}
	if k.compares {
		return true
	}
	if d.in.dst = d.r12(); d.in.dst == pcNumber {
		return d.writesPC()
	}
	d.op.O1, d.op.O2 = d.in.dst, d.op.O1
	return true
}

// writesPC makes the result the address of the next instruction. With S it returns from an exception.
func (d *decoder) writesPC() bool {
	f := d.exec
	d.in.dst = rTarget
	if d.bit(20) {
		d.op.Class, d.op.Flags = clRfe, engine.Ends
		d.exec = func(c *CPU, in *inst) {
			psr := c.spsr()
			if psr == nil {
				c.raise(vecUndefined)
				return
			}
			f(c, in)
			c.exceptionReturn(c.R[rTarget], *psr)
		}
		return true
	}
	d.branch = true
	d.op.Class, d.op.Flags = clBranchRegister, endsBranch
	if d.word&0x0fffffff == 0x01a0f00e { // mov pc, lr
		d.op.Class = clBranchReturn
		d.exec = returnLR
		return true
	}
	d.exec = func(c *CPU, in *inst) {
		f(c, in)
		c.branchTo(c.R[rTarget])
	}
	return true
}

// formData has an immediate, formDataReg a register that may be shifted by a constant, formDataShift one
// that is shifted by a register.
func formData(k *dataOp) func(*decoder, *row) bool {
	return func(d *decoder, _ *row) bool {
		imm, rotated := d.expanded()
		if !d.operation(k) {
			return false
		}
		d.in.imm = imm
		if k.logical && d.bit(20) && rotated {
			d.exec = carryOf(d.exec, imm>>31)
		}
		if k.first {
			d.first(d.r16())
		}
		return true
	}
}

// expanded is the constant of a data-processing instruction (ARM ARM, A5.2.4).
func (d *decoder) expanded() (v uint32, rotated bool) {
	n := int(d.word >> 8 & 15 * 2)
	return bits.RotateLeft32(d.word&0xff, -n), n != 0
}

func carryOf(f exec, carry uint32) exec {
	return func(c *CPU, in *inst) {
		c.cf = carry
		f(c, in)
	}
}

func formDataReg(k *dataOp) func(*decoder, *row) bool {
	return func(d *decoder, _ *row) bool {
		if !d.operation(k) {
			return false
		}
		d.shiftedByConstant(k)
		if k.first {
			d.first(d.r16())
		}
		return true
	}
}

// shiftedByConstant binds the second operand. The carry of the shifter goes to C where the operation has none of its
// own.
func (d *decoder) shiftedByConstant(k *dataOp) {
	rm := d.r0()
	kind, n := d.constantShift()
	if rm == pcNumber {
		rm = rHere
	} else {
		d.waits(rm)
	}
	if kind == shiftLSL && n == 0 {
		d.in.b = rm
		if d.op.Class == clALU && d.field(21, 4)|2 == 15 { // mov and mvn
			d.op.Class = clALUConstant
		}
	} else {
		d.in.s, d.in.b, d.in.sh, d.in.aux = rm, rOperand, n, kind
		d.exec = shifted(d.exec, k.logical && d.bit(20))
		if d.op.Class == clALU {
			d.op.Class = clALUShift
		}
		if kind == shiftRRX {
			d.waits(rFlags)
		}
	}
	if rm == rHere {
		d.exec = here(d.exec)
	}
}

// constantShift is the shift of a register by a constant (ARM ARM, A8.4.1): what would be no shift means 32,
// or rotation by one through the carry.
func (d *decoder) constantShift() (kind, n uint8) {
	kind, n = d.field(5, 2), d.field(7, 5)
	if n == 0 && kind != shiftLSL {
		if n = 32; kind == shiftROR {
			return shiftRRX, 1
		}
	}
	return kind, n
}

func formDataShift(k *dataOp) func(*decoder, *row) bool {
	return func(d *decoder, _ *row) bool {
		if !general(d.r8(), d.r0()) || k.first && d.r16() == pcNumber || !k.compares && d.r12() == pcNumber || !d.operation(k) {
			return false
		}
		d.in.s, d.in.b, d.in.sh, d.in.aux = d.r0(), rOperand, d.r8(), d.field(5, 2)
		d.waits(d.in.s)
		d.waits(d.in.sh)
		d.exec = shiftedByRegister(d.exec, k.logical && d.bit(20))
		if k.first {
			d.first(d.r16())
		}
		return true
	}
}

// formMovw and formMovt have a constant of sixteen bits.
func formMovw(d *decoder, _ *row) bool {
	d.in.imm, d.in.dst = d.word>>4&0xf000|d.word&0xfff, d.r12()
	d.op.O1 = d.in.dst
	return general(d.in.dst)
}

func formMovt(d *decoder, r *row) bool {
	ok := formMovw(d, r)
	d.op.S1 = d.in.dst
	return ok
}

// The multiplications have the result in bits 16 to 19. formMul has two factors and may have an addend;
// formMulLong has a result of two registers, which may be an addend too.
func formMul(d *decoder, _ *row) bool {
	d.in.dst, d.in.a, d.in.b = d.r16(), d.r0(), d.r8()
	d.op.O1, d.op.S1, d.op.S2 = d.in.dst, d.in.a, d.in.b
	return general(d.in.dst, d.in.a, d.in.b)
}

func formMulAdd(d *decoder, r *row) bool {
	d.in.s = d.r12()
	d.op.S3 = d.in.s
	return formMul(d, r) && general(d.in.s)
}

// formMulMaybe is formMulAdd in which no addend is written as the program counter.
func formMulMaybe(d *decoder, r *row) bool {
	if d.r12() != pcNumber {
		return formMulAdd(d, r)
	}
	return formMul(d, r)
}

func formMulLong(d *decoder, r *row) bool {
	ok := formMul(d, r)
	d.in.s = d.r12()
	d.op.O2 = d.in.s
	return ok && general(d.in.s) && d.in.s != d.in.dst
}

func formMulLongAdd(d *decoder, r *row) bool {
	ok := formMulLong(d, r)
	d.op.S3 = d.in.s // the other half is as old
	return ok
}

// withS binds the form of an instruction that sets N and Z when bit 20 is set.
func withS(form func(*decoder, *row) bool, sets exec) func(*decoder, *row) bool {
	return func(d *decoder, r *row) bool {
		ok := form(d, r)
		if d.bit(20) {
			d.exec = sets
			d.sets(rFlags)
		}
		return ok
	}
}

// halves binds which halves the multiplication takes: bits 5 and 6.
func halves(form func(*decoder, *row) bool) func(*decoder, *row) bool {
	return func(d *decoder, r *row) bool {
		d.in.aux = d.field(5, 2)
		return form(d, r)
	}
}

// formThree has the result in bits 12 to 15 and two operands; formThreeSwapped names them the other way
// around.
func formThree(d *decoder, _ *row) bool {
	d.in.dst, d.in.a, d.in.b = d.r12(), d.r16(), d.r0()
	d.op.O1, d.op.S1, d.op.S2 = d.in.dst, d.in.a, d.in.b
	return general(d.in.dst, d.in.a, d.in.b)
}

// formSel also reads the GE flags, formParallel sets them.
func formSel(d *decoder, r *row) bool {
	d.op.S3 = rGE
	return formThree(d, r)
}

func formParallel(d *decoder, r *row) bool {
	d.op.O2 = rGE
	return formThree(d, r)
}

// formTwo has a result and one operand in the lowest bits.
func formTwo(d *decoder, _ *row) bool {
	d.in.dst, d.in.b = d.r12(), d.r0()
	d.op.O1, d.op.S1 = d.in.dst, d.in.b
	return general(d.in.dst, d.in.b)
}

// formExtend rotates its operand by bytes; with Rn the program counter nothing is added.
func formExtend(d *decoder, r *row) bool {
	d.in.sh = d.field(10, 2) * 8
	if d.r16() == pcNumber {
		return formTwo(d, r)
	}
	d.op.Class = clExtendAdd
	return formThree(d, r)
}

// formPack shifts its second operand by a constant.
func formPack(d *decoder, r *row) bool {
	_, n := d.constantShift()
	d.in.sh = n
	return formThree(d, r)
}

// formSaturate has the width in imm and a shift; formSaturate16 has none.
func formSaturate(d *decoder, r *row) bool {
	kind, n := d.field(6, 1)*shiftASR, d.field(7, 5)
	if kind == shiftASR && n == 0 {
		n = 32
	}
	d.in.imm, d.in.aux, d.in.sh = uint32(d.field(16, 5)), kind, n
	return formTwo(d, r)
}

func formSaturate16(d *decoder, r *row) bool {
	d.in.imm = uint32(d.r16())
	return formTwo(d, r)
}

// formField has the lowest bit in sh and a mask of the width in imm.
func formField(d *decoder, r *row) bool {
	lsb, width := uint32(d.field(7, 5)), uint32(d.field(16, 5))+1
	d.in.sh, d.in.aux, d.in.imm = uint8(lsb), uint8(32-width), uint32(1<<width-1)
	return formTwo(d, r) && lsb+width <= 32
}

// formInsert is formField with the highest bit in place of a width, and no source for bfc.
func formInsert(d *decoder, _ *row) bool {
	lsb, msb := d.field(7, 5), d.field(16, 5)
	d.in.sh, d.in.dst = lsb, d.r12()
	if rn := d.r0(); rn != pcNumber {
		d.in.b = rn
	}
	d.op.O1, d.op.S1, d.op.S2 = d.in.dst, d.in.b, d.in.dst
	d.in.imm = uint32(1<<(msb-lsb+1)-1) << lsb
	return general(d.in.dst) && msb >= lsb
}

// formB is a branch by a distance, formBL a call.
func formB(d *decoder, _ *row) bool { return d.near(jumpWhen) }

func formBL(d *decoder, _ *row) bool {
	d.op.O1 = rLR
	return d.near(callWhen)
}

// near binds the distance, and the condition with the function that looks at it.
func (d *decoder) near(conditional exec) bool {
	d.in.imm, d.whole = d.distance(), true
	if cond := d.cond(); cond < condAL {
		d.op.Class = clBranchCond
		d.op.S1 = rFlags
		d.in.aux = cond
		d.exec = conditional
	}
	return true
}

func (d *decoder) distance() uint32 { return uint32(int32(d.word<<8)>>6) + 4 }

// formBX goes to a register; through the link register it is a return.
func formBX(d *decoder, _ *row) bool {
	d.branch = true
	d.in.b = d.r0()
	d.op.S1 = d.in.b
	if d.in.b == rLR {
		d.op.Class = clBranchReturn
		d.exec = returnLR
	}
	if d.in.b == pcNumber {
		d.in.b, d.op.S1 = rHere, rZero
		d.exec = here(d.exec)
	}
	return true
}

func formBLX(d *decoder, _ *row) bool {
	d.branch = true
	d.in.b = d.r0()
	d.op.S1, d.op.O1 = d.in.b, rLR
	return general(d.in.b)
}
