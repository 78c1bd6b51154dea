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
	nAdd
	nOr
	nAnd
	nSub
	nXor
	nCmp
	nTest
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
	// What ends a block behind its last instruction.
	nBehind
	nTo
)

// Places of operands: those of a row's functions.
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
	x86asm.TEST: nTest, x86asm.SBB: nSbb, x86asm.MOV: nMov, x86asm.LEA: nLea, x86asm.MOVZX: nZero, x86asm.MOVSX: nSign,
	x86asm.MOVSXD: nSign, x86asm.SHL: nShl, x86asm.SHR: nShr, x86asm.SAR: nSar, x86asm.ROL: nRol, x86asm.ROR: nRor,
	x86asm.NOT: nNot, x86asm.NEG: nNeg, x86asm.INC: nInc, x86asm.DEC: nDec, x86asm.IMUL: nImul, x86asm.BSWAP: nSwap,
	x86asm.XCHG: nXchg, x86asm.CMPXCHG: nCmpxchg,
}

// nativeForm chooses the form of an instruction that is bound, whose form for threaded code is chosen.
func (d *decoder) nativeForm() nativeForm {
	mode := d.modeSize()
	switch {
	case d.mask != 0 || d.in.rep != 0 || d.in.form == formIdle:
		return 0
	case plainEnd(d.op.Class):
		return d.nativeBranch(mode)
	case d.op.Flags&engine.Ends != 0 || d.segmented():
		return 0
	case d.in.form == formPush64 || d.in.form == formPush32:
		return native(nPush, inReg, mode, 0)
	case d.in.form == formPop64 || d.in.form == formPop32:
		return native(nPop, inReg, mode, 0)
	}
	size := d.size()
	if size < 0 || d.special() {
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
	switch d.in.form {
	case formCall64, formCall32:
		return native(nCall, inReg, mode, 0)
	case formRet64, formRet32:
		return native(nRet, inReg, mode, 0)
	case formJmp:
		return native(nJmp, inReg, mode, 0)
	case formJcc:
		return native(nJcc, inReg, mode, 0)
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
