package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// formRow are the forms of an operation, in the order of a row's functions.
type formRow struct{ reg, load, mem [4]threadForm }

// formRows has the operations that have functions of their own in threaded code: those that kernels execute most.
var formRows = map[x86asm.Op]formRow{
	x86asm.MOV: {
		reg:  [4]threadForm{size32: formMovR32, size64: formMovR64},
		load: [4]threadForm{size32: formMovL32, size64: formMovL64},
		mem:  [4]threadForm{size8: formMovM8, size32: formMovM32, size64: formMovM64},
	},
	x86asm.ADD: {reg: [4]threadForm{size32: formAddR32, size64: formAddR64}, load: [4]threadForm{size64: formAddL64}},
	x86asm.SUB: {reg: [4]threadForm{size32: formSubR32, size64: formSubR64}},
	x86asm.AND: {reg: [4]threadForm{size32: formAndR32, size64: formAndR64}},
	x86asm.OR:  {reg: [4]threadForm{size32: formOrR32, size64: formOrR64}},
	x86asm.XOR: {reg: [4]threadForm{size32: formXorR32, size64: formXorR64}},
	x86asm.CMP: {
		reg:  [4]threadForm{size8: formCmpR8, size32: formCmpR32, size64: formCmpR64},
		load: [4]threadForm{size32: formCmpL32, size64: formCmpL64},
		mem:  [4]threadForm{size8: formCmpM8, size32: formCmpM32, size64: formCmpM64},
	},
	x86asm.TEST: {
		reg: [4]threadForm{size8: formTestR8, size32: formTestR32, size64: formTestR64},
		mem: [4]threadForm{size8: formTestM8, size32: formTestM32},
	},
	x86asm.LEA: {load: [4]threadForm{size32: formLea32, size64: formLea64}},
}

// form chooses the form of an instruction that is bound.
func (d *decoder) form() threadForm {
	switch {
	case d.mask != 0 || d.lock || d.in.rep != 0:
		return formNone
	case d.x.Op == x86asm.NOP:
		return formIdle
	case plainEnd(d.op.Class):
		return d.branchForm()
	case d.op.Flags&engine.Ends != 0:
		return formNone
	}
	if f := d.operandForm(); f != formNone {
		return f
	}
	if d.op.Flags&(engine.Loads|engine.Stores) == 0 {
		return pureForms[d.op.Class]
	}
	return formNone
}

// pureForms are the classes of which no instruction between registers faults, or looks at what lies behind registers
// and flags. A lea of 16 bits may, at rip.
var pureForms = [classes]threadForm{
	clALU: formPure, clCarry: formPure, clCmov: formPure, clSetcc: formPure, clShift: formPure, clShiftDouble: formPure,
	clImul: formPure, clImul64: formPure, clBitScan: formPure, clBitTest: formPure, clXadd: formPure, clCmpxchg: formPure,
	clMov: formKeep, clExtend: formKeep, clBswap: formKeep, clXchg: formKeep,
}

// branchForm chooses the form of a branch.
func (d *decoder) branchForm() threadForm {
	long := d.mode == 64
	_, direct := d.x.Args[0].(x86asm.Rel)
	switch {
	case d.x.Op == x86asm.RET && d.x.DataSize != 16:
		return choose(long, formRet64, formRet32)
	case !direct:
		return formNone
	case d.op.Class == clJcc && d.x.Op != x86asm.JCXZ && d.x.Op != x86asm.JECXZ && d.x.Op != x86asm.JRCXZ:
		return formJcc
	case d.x.Op == x86asm.JMP:
		return formJmp
	case d.x.Op == x86asm.CALL:
		return choose(long, formCall64, formCall32)
	}
	return formNone
}

func choose(long bool, a, b threadForm) threadForm {
	if long {
		return a
	}
	return b
}

// operandForm chooses by the kinds of the operands: general registers, immediates and memory.
func (d *decoder) operandForm() threadForm {
	size := d.size()
	if size < 0 || d.segmented() {
		return formNone
	}
	row := formRows[d.x.Op]
	_, toReg := d.x.Args[0].(x86asm.Reg)
	switch {
	case d.op.Class == clPush && size == d.modeSize():
		return choose(d.mode == 64, formPush64, formPush32)
	case d.op.Class == clPop && size == d.modeSize():
		return choose(d.mode == 64, formPop64, formPop32)
	case d.op.Class == clExtend && d.x.Op == x86asm.MOVSXD || d.op.Class == clLoad && d.x.Op != x86asm.MOV:
		return d.extendForm(size)
	case d.special():
		return formNone
	case !toReg:
		return row.mem[size]
	case d.isMem(1):
		return row.load[size]
	}
	return row.reg[size]
}

// segmented reports an operand in memory whose segment an access of 32-bit code is held against.
func (d *decoder) segmented() bool {
	return d.mode == 32 && (d.isMem(0) || d.isMem(1)) && d.in.seg != segFlat
}

// special reports a form of mov that has a function of its own: of other registers, or with an address that is the
// operand.
func (d *decoder) special() bool {
	return d.x.Op == x86asm.MOV && d.op.Class != clMov && d.op.Class != clLoad && d.op.Class != clStore ||
		d.x.Op == x86asm.MOV && d.mode == 64 && d.x.Opcode>>24 >= 0xa0 && d.x.Opcode>>24 <= 0xa3
}

// extendForm chooses the form of an extension, by the sizes of its operands.
func (d *decoder) extendForm(size int) threadForm {
	if !d.isMem(1) || size < size32 {
		return formNone
	}
	switch from := sizeIndex(d.x.MemBytes); {
	case d.x.Op == x86asm.MOVZX && from == size8:
		return formZeroL8
	case d.x.Op == x86asm.MOVZX && from == size16:
		return formZeroL16
	case d.x.Op == x86asm.MOVSXD && from == size32 && size == size64:
		return formSignL32
	}
	return formNone
}
