package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
	"kprobesim/internal/encoding"
)

// rows is the instruction set: one row an instruction, by the decoder's name for it. The groups
// follow the manual's summary (SDM vol. 1, chapter 5), whose sections are of the editions
// in which 5.20 lists the system instructions.
//
// A row names the function that binds the operands (bind.go, bind_sys.go) and the functions that
// may be bound: reg, load and mem by where the operands are, in each by operand size. What a row
// leaves out is not modelled and raises #UD. class and inMem are prices, io and flags what the
// cost models and the engine know of the instruction. Most functions are generic over the operand
// size.
var rows = encoding.Union(
	dataTransfer, binaryArithmetic, decimalArithmetic, logical, shiftAndRotate, bitAndByte,
	conditional(), controlTransfer, stringInstructions, enterAndLeave, flagControl, farPointers, miscellaneous,
	cacheControl, system, floatingControl, extendedState, x87Images, x87Rows(), ports, vectors(), floats,
)

// ioArith holds what most arithmetic has in common.
const ioArith = ioReadDst | ioSetFlag

// Conditions (SDM vol. 2, B.1.4.7, "tttn"). An odd one is the opposite of the one before it.
const (
	condO = iota
	condNO
	condB
	condAE
	condE
	condNE
	condBE
	condA
	condS
	condNS
	condP
	condNP
	condL
	condGE
	condLE
	condG
)

// flagsOf says which flags a condition looks at.
func flagsOf(cond uint8) uint16 {
	if cond == condB || cond == condAE {
		return ioReadCarry
	}
	return ioReadFlag
}

// conditions are the names of jcc, setcc and cmovcc by their condition.
var conditions = [16][3]x86asm.Op{
	condO:  {x86asm.JO, x86asm.SETO, x86asm.CMOVO},
	condNO: {x86asm.JNO, x86asm.SETNO, x86asm.CMOVNO},
	condB:  {x86asm.JB, x86asm.SETB, x86asm.CMOVB},
	condAE: {x86asm.JAE, x86asm.SETAE, x86asm.CMOVAE},
	condE:  {x86asm.JE, x86asm.SETE, x86asm.CMOVE},
	condNE: {x86asm.JNE, x86asm.SETNE, x86asm.CMOVNE},
	condBE: {x86asm.JBE, x86asm.SETBE, x86asm.CMOVBE},
	condA:  {x86asm.JA, x86asm.SETA, x86asm.CMOVA},
	condS:  {x86asm.JS, x86asm.SETS, x86asm.CMOVS},
	condNS: {x86asm.JNS, x86asm.SETNS, x86asm.CMOVNS},
	condP:  {x86asm.JP, x86asm.SETP, x86asm.CMOVP},
	condNP: {x86asm.JNP, x86asm.SETNP, x86asm.CMOVNP},
	condL:  {x86asm.JL, x86asm.SETL, x86asm.CMOVL},
	condGE: {x86asm.JGE, x86asm.SETGE, x86asm.CMOVGE},
	condLE: {x86asm.JLE, x86asm.SETLE, x86asm.CMOVLE},
	condG:  {x86asm.JG, x86asm.SETG, x86asm.CMOVG},
}

// conditional makes the rows of instructions with one of sixteen conditions, in aux. The destination of
// setcc is a byte. cmovcc has no form of bytes, and loads its source even if the condition fails.
func conditional() map[x86asm.Op]row {
	rows := map[x86asm.Op]row{}
	for i, names := range conditions {
		cond := uint8(i)
		io := flagsOf(cond)
		rows[names[0]] = row{bind: bindRel, reg: byWidth{jcc}, class: clJcc, io: io, aux: cond}
		rows[names[1]] = row{bind: bindSet, class: clSetcc, io: io, aux: cond, reg: byWidth{setccR}, mem: byWidth{setccM}}
		rows[names[2]] = row{
			bind: bindCmov, class: clCmov, io: ioReadDst | io, aux: cond,
			reg:  byWidth{nil, cmovR[uint16], cmovR[uint32], cmovR[uint64]},
			load: byWidth{nil, cmovL[uint16], cmovL[uint32], cmovL[uint64]},
		}
	}
	return rows
}

// onCount is loop or jcxz, which look at rcx.
func onCount(io uint16, aux uint8, f byWidth) row {
	return row{bind: bindCount, class: clLoop, io: ioReadC | io, aux: aux, reg: f}
}

// implied is an instruction whose operands are not encoded.
func implied(f exec, class uint8, io uint16) row {
	return row{bind: bindNone, reg: byWidth{f}, class: class, io: io}
}

// ending is implied for an instruction that ends a block.
func ending(f exec, class uint8, io uint16) row {
	return row{bind: bindNone, reg: byWidth{f}, class: class, io: io, flags: engine.Ends}
}

// stringOf is a string instruction of one element size; the size is in its name.
func stringOf(f exec, class uint8, flags, io uint16) row {
	return row{bind: bindString, reg: byWidth{f}, class: class, flags: flags, io: io}
}

// pushFlags and popFlags have three names each, of which the decoder chooses one by the operand
// size.
func pushFlags() row {
	return row{
		bind: bindModeWidth, class: clPushf, io: ioReadFlag, flags: engine.Stores | engine.Pushes,
		reg: byWidth{nil, pushf[uint16], pushf[uint32], pushf[uint64]},
	}
}

func popFlags() row {
	return row{
		bind: bindModeWidth, class: clPopf, io: ioSetFlag, flags: engine.Loads | engine.Ends | engine.Pops,
		reg: byWidth{nil, popf[uint16], popf[uint32], popf[uint64]},
	}
}
