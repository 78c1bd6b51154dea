package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// rows is the instruction set: one row an instruction, by the decoder's name for it. The groups
// follow the manual's summary (SDM vol. 1, chapter 5), whose sections are of the editions
// in which 5.20 lists the system instructions.
//
// A row names the function that binds the operands (bind.go, bind_sys.go) and the functions that
// may be bound: reg, load and mem by where the operands are, in each by operand size. What a row
// leaves out is not modelled and raises #UD. class and inMem are prices, io and flags what the
// cost models and the engine know of the instruction. Most functions are generic over the operand
// size; those with a size in their name, such as addR64, are the fast forms of ops_fast.go.
var rows = union(
	dataTransfer, binaryArithmetic, decimalArithmetic, logical, shiftAndRotate, bitAndByte,
	controlTransfer, stringInstructions, enterAndLeave, flagControl, farPointers, miscellaneous,
	cacheControl, system, floatingControl, floatingNumbers, ports, vectors(),
)

// union joins groups. An operation in two of them is a mistake of ours.
func union(groups ...map[x86asm.Op]row) map[x86asm.Op]row {
	all := map[x86asm.Op]row{}
	for _, g := range groups {
		for op, r := range g {
			if _, ok := all[op]; ok {
				panic("x86: two rows for " + op.String())
			}
			all[op] = r
		}
	}
	return all
}

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

// jumpIf is jcc. f is the function of the condition where it has one, otherwise jcc, which
// evaluates it.
func jumpIf(cond uint8, f exec) row {
	return row{bind: bindRel, reg: byWidth{f}, class: clJcc, io: flagsOf(cond), aux: cond}
}

// setIf is setcc, whose destination is a byte.
func setIf(cond uint8) row {
	return row{
		bind: bindSet, class: clSetcc, io: flagsOf(cond), aux: cond,
		reg: byWidth{setccR},
		mem: byWidth{setccM},
	}
}

// moveIf is cmovcc. It loads its source even if the condition fails.
func moveIf(cond uint8) row {
	return row{
		bind: bindCmov, class: clCmov, io: ioReadDst | flagsOf(cond), aux: cond,
		reg:  byWidth{nil, cmovR[uint16], cmovR32, cmovR64},
		load: byWidth{nil, cmovL[uint16], cmovL[uint32], cmovL[uint64]},
	}
}

// shifted is a shift or a rotate that does not take CF in.
func shifted(reg, mem byWidth) row {
	return row{
		bind: bindShift, reg: reg, mem: mem,
		class: clShift, inMem: clShiftMem, io: ioArith,
	}
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
