package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// nativeForm tells an instruction to native.go: an operation, where its operands are, and their sizes. Zero is an
// instruction that has no code of the host.
type nativeForm uint16

// nativeOp is an operation.
type nativeOp uint8

const (
	_ nativeOp = iota
	nNop
	nAdd
	nOr
	nAnd
	nSub
	nXor
	nCmp
	nTest
	nAdc
	nSbb
	nMov
	nLea
	nZero // extensions
	nSign
	nShl
	nShr
	nSar
	nRol
	nRor
	nNot
	nNeg
	nInc
	nDec
	nImul
	nImulBy // a constant, to another register
	nSet
	nCmov
	nSwap
	nXchg
	nCmpxchg
	nWiden // cdqe and cwde
	nSplit // cqo and cdq
	nPush
	nPop
	nCall
	nRet
	nJmp
	nJcc
	nCallTo // through a register or memory
	nJmpTo
)

// Places of operands, as in a row's functions.
const (
	inReg = iota
	inLoad
	inMem
)

// native packs a form. Sizes are logarithms of bytes.
func native(o nativeOp, place, size, from int) nativeForm {
	return nativeForm(o) | nativeForm(place)<<8 | nativeForm(size)<<10 | nativeForm(from)<<12
}

func (f nativeForm) op() nativeOp { return nativeOp(f) }
func (f nativeForm) place() int   { return int(f >> 8 & 3) }
func (f nativeForm) bytes() int   { return 1 << (f >> 10 & 3) }
func (f nativeForm) from() int    { return 1 << (f >> 12 & 3) }

// nativeOps are the operations by the decoder's names.
var nativeOps = map[x86asm.Op]nativeOp{
	x86asm.ADD: nAdd, x86asm.OR: nOr, x86asm.AND: nAnd, x86asm.SUB: nSub, x86asm.XOR: nXor, x86asm.CMP: nCmp,
	x86asm.TEST: nTest, x86asm.ADC: nAdc, x86asm.SBB: nSbb, x86asm.MOV: nMov, x86asm.LEA: nLea, x86asm.MOVZX: nZero, x86asm.MOVSX: nSign,
	x86asm.MOVSXD: nSign, x86asm.SHL: nShl, x86asm.SHR: nShr, x86asm.SAR: nSar, x86asm.ROL: nRol, x86asm.ROR: nRor,
	x86asm.NOT: nNot, x86asm.NEG: nNeg, x86asm.INC: nInc, x86asm.DEC: nDec, x86asm.IMUL: nImul, x86asm.BSWAP: nSwap,
	x86asm.XCHG: nXchg, x86asm.CMPXCHG: nCmpxchg,
}

// nativeForm chooses the form of an instruction that is bound.
func (d *decoder) nativeForm() nativeForm {
	if d.x.Op == x86asm.NOP {
		return native(nNop, inReg, 0, 0)
	}
	if plainEnd(d.op.Class) && d.mask == 0 {
		return d.nativeBranch(d.modeSize())
	}
	size := d.size()
	if size < 0 || d.mask != 0 || d.in.rep != 0 || d.op.Flags&engine.Ends != 0 || d.segmented() {
		return 0
	}
	switch {
	case d.op.Class == clPush && size == d.modeSize():
		return native(nPush, inReg, size, 0)
	case d.op.Class == clPop && size == d.modeSize():
		return native(nPop, inReg, size, 0)
	case d.special():
		return 0
	}
	switch d.op.Class {
	case clSetcc:
		return native(nSet, d.place(), size8, 0)
	case clCmov:
		return native(nCmov, d.place(), size, 0)
	}
	switch d.x.Op {
	case x86asm.CDQE, x86asm.CWDE:
		return native(nWiden, inReg, choose2(d.x.Op == x86asm.CDQE, size64, size32), 0)
	case x86asm.CQO, x86asm.CDQ:
		return native(nSplit, inReg, choose2(d.x.Op == x86asm.CQO, size64, size32), 0)
	}
	o := nativeOps[d.x.Op]
	switch o {
	case 0:
		return 0
	case nZero, nSign:
		return d.nativeExtension(o, size)
	case nImul:
		if d.op.Class != clImul && d.op.Class != clImul64 {
			return 0
		}
		if d.x.Opcode>>24 != 0x0f {
			return native(nImulBy, d.place(), size, 0)
		}
	}
	return native(o, d.place(), size, 0)
}

func choose2(long bool, a, b int) int {
	if long {
		return a
	}
	return b
}

// place says where operands are.
func (d *decoder) place() int {
	switch {
	case d.isMem(0):
		return inMem
	case d.isMem(1):
		return inLoad
	}
	return inReg
}

// nativeExtension is the form of an extension, which has two sizes.
func (d *decoder) nativeExtension(o nativeOp, size int) nativeForm {
	from := sizeIndex(d.x.MemBytes)
	if r, ok := d.x.Args[1].(x86asm.Reg); ok {
		_, n, _ := register(r)
		from = sizeIndex(n)
	}
	if from < 0 || size < size32 || from > size32 || from == size32 && d.x.Op != x86asm.MOVSXD {
		return 0
	}
	return native(o, d.place(), size, from)
}

// nativeBranch is the form of a branch.
func (d *decoder) nativeBranch(mode int) nativeForm {
	_, direct := d.x.Args[0].(x86asm.Rel)
	switch {
	case d.x.Op == x86asm.RET && d.x.DataSize != 16:
		return native(nRet, inReg, mode, 0)
	case direct && d.op.Class == clJcc && d.x.Op != x86asm.JCXZ && d.x.Op != x86asm.JECXZ && d.x.Op != x86asm.JRCXZ:
		return native(nJcc, inReg, mode, 0)
	case direct && d.x.Op == x86asm.JMP:
		return native(nJmp, inReg, mode, 0)
	case direct && d.x.Op == x86asm.CALL:
		return native(nCall, inReg, mode, 0)
	}
	if d.segmented() || d.x.DataSize == 16 {
		return 0
	}
	place := inReg
	if d.isMem(0) {
		place = inLoad
	}
	switch d.op.Class {
	case clCallIndirect:
		return native(nCallTo, place, mode, 0)
	case clJmpIndirect:
		return native(nJmpTo, place, mode, 0)
	}
	return 0
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
