package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// The general-purpose instructions that compute and move (SDM vol. 1, 5.1.1 to 5.1.6).

// dataTransfer is SDM vol. 1, 5.1.1, and from 5.21 the forms that only 64-bit mode has.
//
//   - mov to and from segment, control and debug registers has no rows: bindMov chooses among
//     them.
//   - A conditional move reads its destination too: it keeps it when the condition fails.
//   - xchg with memory locks by itself; xadd, cmpxchg and their wide forms lock with the prefix
//     only.
//   - push and pop hold the class of their segment form in aux and its function in load. In the
//     mode's own width a segment register takes a whole word of the stack.
//   - pusha and popa are 32-bit mode's. They make eight accesses each and end a block, as enter
//     does.
var dataTransfer = map[x86asm.Op]row{
	x86asm.MOV: {
		bind: bindMov, class: clMov,
		reg:  byWidth{movR[uint8], movR[uint16], movR[uint32], movR[uint64]},
		load: byWidth{movL[uint8], movL[uint16], movL[uint32], movL[uint64]},
		mem:  byWidth{movM[uint8], movM[uint16], movM[uint32], movM[uint64]},
	},
	// A store past the caches takes the way of any other here: they are not avoided.
	x86asm.MOVNTI: {bind: bindPlain, mem: byWidth{nil, nil, movM[uint32], movM[uint64]}, class: clStore},

	// The memory form has the class of what locks, whether or not the prefix is there.
	x86asm.XCHG: {
		bind: bindTwo, class: clXchg, inMem: clLocked, io: ioReadDst | ioSetSrc | ioLock,
		reg: byWidth{xchgR[uint8], xchgR[uint16], xchgR[uint32], xchgR[uint64]},
		mem: byWidth{xchgM[uint8], xchgM[uint16], xchgM[uint32], xchgM[uint64]},
	},
	x86asm.BSWAP: {
		bind: bindOne, class: clBswap, io: ioReadDst,
		reg: byWidth{nil, bswap16, bswap32, bswap64},
	},
	// The source register is written too: it takes the old destination.
	x86asm.XADD: {
		bind: bindTwo, class: clXadd, io: ioReadDst | ioSetSrc | ioSetFlag | ioLock,
		reg: byWidth{xaddR[uint8], xaddR[uint16], xaddR[uint32], xaddR[uint64]},
		mem: byWidth{xaddM[uint8], xaddM[uint16], xaddM[uint32], xaddM[uint64]},
	},
	// The accumulator is read, and written when the comparison fails.
	x86asm.CMPXCHG: {
		bind: bindTwo, class: clCmpxchg, io: ioReadDst | ioReadA | ioSetA | ioSetFlag | ioLock,
		reg: byWidth{cmpxchgR[uint8], cmpxchgR[uint16], cmpxchgR[uint32], cmpxchgR[uint64]},
		mem: byWidth{cmpxchgM[uint8], cmpxchgM[uint16], cmpxchgM[uint32], cmpxchgM[uint64]},
	},
	// The operand is in memory always: bindMem takes its address and the function
	// loads and stores by itself. The width is that of one half.
	x86asm.CMPXCHG8B: {
		bind: bindMem, class: clCmpxchgWide,
		io: ioReadA | ioSetA | ioSetD | ioSetFlag | ioLock, flags: engine.Loads | engine.Stores,
		reg: byWidth{cmpxchgWide[uint32]},
	},
	x86asm.CMPXCHG16B: {
		bind: bindMem, class: clCmpxchgWide,
		io: ioReadA | ioSetA | ioSetD | ioSetFlag | ioLock, flags: engine.Loads | engine.Stores,
		reg: byWidth{cmpxchgWide[uint64]},
	},

	// A selector has the mode's width on the stack, though 16 bits are meant.
	x86asm.PUSH: {
		bind: bindPush, class: clPush, inMem: clPushMem, io: ioNoWrite, flags: engine.Stores | engine.Pushes,
		aux:  clFromSeg,
		reg:  byWidth{nil, pushR[uint16], pushR[uint32], pushR[uint64]},
		load: byWidth{nil, pushSeg[uint16], pushSeg32, pushSeg[uint64]},
		mem:  byWidth{nil, pushM[uint16], pushM[uint32], pushM[uint64]},
	},
	x86asm.POP: {
		bind: bindPush, class: clPop, inMem: clPopMem, flags: engine.Loads | engine.Pops, aux: clToSeg,
		reg:  byWidth{nil, popR[uint16], popR[uint32], popR[uint64]},
		load: byWidth{nil, popSeg[uint16], popSeg[uint32], popSeg[uint64]},
		mem:  byWidth{nil, popM[uint16], popM[uint32], popM[uint64]},
	},
	x86asm.PUSHA: {
		bind: bindSizedImm, class: clEnter, flags: engine.Stores | engine.Ends | engine.Pushes,
		reg: byWidth{size16: pusha[uint16]},
	},
	x86asm.PUSHAD: {
		bind: bindSizedImm, class: clEnter, flags: engine.Stores | engine.Ends | engine.Pushes,
		reg: byWidth{size32: pusha[uint32]},
	},
	x86asm.POPA: {
		bind: bindSizedImm, class: clEnter, flags: engine.Loads | engine.Ends | engine.Pops, also: popped,
		reg: byWidth{size16: popa[uint16]},
	},
	x86asm.POPAD: {
		bind: bindSizedImm, class: clEnter, flags: engine.Loads | engine.Ends | engine.Pops, also: popped,
		reg: byWidth{size32: popa[uint32]},
	},

	// The sign of the accumulator goes to the data register.
	x86asm.CWD: implied(cwd, clALU, ioReadA|ioSetD),
	x86asm.CDQ: implied(cdq, clALU, ioReadA|ioSetD),
	x86asm.CQO: implied(cqo, clALU, ioReadA|ioSetD),
	// The accumulator itself is widened.
	x86asm.CBW:  implied(cbw, clExtend, ioReadA|ioSetA),
	x86asm.CWDE: implied(cwde, clExtend, ioReadA|ioSetA),
	x86asm.CDQE: implied(cdqe, clExtend, ioReadA|ioSetA),
	// The source has a width of its own: extensions has the functions by both.
	x86asm.MOVZX:  {bind: bindExtend, class: clExtend, aux: extendZero},
	x86asm.MOVSX:  {bind: bindExtend, class: clExtend, aux: extendSign},
	x86asm.MOVSXD: {bind: bindExtend, class: clExtend, aux: extendSign},
}

// binaryArithmetic is SDM vol. 1, 5.1.2.
//
//   - inc and dec keep CF and do not wait for it: processors rename it apart.
//   - imul has three forms in one row: two operands here, one in imul1, three in imul3.
//   - mul, div and their signed kin have the accumulator as an operand. bindWide gives the 64-bit
//     forms the next class, which is far slower.
var binaryArithmetic = map[x86asm.Op]row{
	// Sums and differences have the two-operand forms in all sizes.
	x86asm.ADD: twoOperands(binaryOp{add[uint8], add[uint16], add[uint32], add[uint64]}, clALU, clALUMem, 0),
	x86asm.ADC: twoOperands(binaryOp{adc[uint8], adc[uint16], adc[uint32], adc[uint64]}, clCarry, clCarryMem, ioReadCarry),
	x86asm.SUB: twoOperands(binaryOp{sub[uint8], sub[uint16], sub[uint32], sub[uint64]}, clALU, clALUMem, 0),
	x86asm.SBB: twoOperands(binaryOp{sbb[uint8], sbb[uint16], sbb[uint32], sbb[uint64]}, clCarry, clCarryMem, ioReadCarry),
	// cmp is a sub that writes nothing, so it neither stores nor locks.
	x86asm.CMP: {bind: bindTwo, class: clALU, io: ioArith | ioNoWrite, reg: compared.reg(true), load: compared.load(true), mem: compared.mem(true)},

	// One operand.
	x86asm.INC: oneOperand(unaryOp{inc[uint8], inc[uint16], inc[uint32], inc[uint64]}, ioSetPart),
	x86asm.DEC: oneOperand(unaryOp{dec[uint8], dec[uint16], dec[uint32], dec[uint64]}, ioSetPart),
	x86asm.NEG: oneOperand(unaryOp{neg[uint8], neg[uint16], neg[uint32], neg[uint64]}, ioSetFlag),

	// The byte form has one operand only.
	x86asm.IMUL: {bind: bindImul, class: clImul, io: ioArith, reg: multiplied.reg(false), load: multiplied.load(false)},
	x86asm.MUL:  wide(sourceOp{mulBy[uint8], mulBy[uint16], mulBy[uint32], mulBy[uint64]}, clMul, ioSetFlag),
	x86asm.DIV:  wide(sourceOp{divBy[uint8], divBy[uint16], divBy[uint32], divBy[uint64]}, clDiv32, ioReadD),
	x86asm.IDIV: wide(sourceOp{idivBy[uint8], idivBy[uint16], idivBy[uint32], idivBy[uint64]}, clDiv32, ioReadD),
}

// popped are the registers that popa sets beside the stack pointer.
const popped = 1<<rax | 1<<rcx | 1<<rdx | 1<<rbx | 1<<rbp | 1<<rsi | 1<<rdi

// The operations of cmp, test and imul, whose rows have not all forms.
var (
	compared   = binaryOp{sub[uint8], sub[uint16], sub[uint32], sub[uint64]}
	tested     = binaryOp{and[uint8], and[uint16], and[uint32], and[uint64]}
	multiplied = binaryOp{nil, imul[uint16], imul[uint32], imul[uint64]}
)

// imul1 and imul3 are the forms of imul with one and with three operands.
var (
	imul1 = wide(sourceOp{imulBy[uint8], imulBy[uint16], imulBy[uint32], imulBy[uint64]}, clMul, ioSetFlag)
	imul3 = row{
		reg:  byWidth{nil, imul3R[uint16], imul3R[uint32], imul3R[uint64]},
		load: byWidth{nil, imul3L[uint16], imul3L[uint32], imul3L[uint64]},
	}
)

// decimalArithmetic is SDM vol. 1, 5.1.3: adjustments of al, or of ax, in 32-bit mode only. aam
// divides and aad multiplies by the base that the instruction holds, 10 unless an assembler is
// told otherwise.
var decimalArithmetic = map[x86asm.Op]row{
	x86asm.DAA: implied(daa, clCarry, ioReadA|ioSetA|ioReadFlag|ioSetFlag),
	x86asm.DAS: implied(das, clCarry, ioReadA|ioSetA|ioReadFlag|ioSetFlag),
	x86asm.AAA: implied(aaa, clCarry, ioReadA|ioSetA|ioReadFlag|ioSetFlag),
	x86asm.AAS: implied(aas, clCarry, ioReadA|ioSetA|ioReadFlag|ioSetFlag),
	x86asm.AAM: {
		bind: bindImm, class: clDiv32, io: ioReadA | ioSetA | ioSetFlag,
		reg: byWidth{aam},
	},
	x86asm.AAD: {
		bind: bindImm, class: clMul, io: ioReadA | ioSetA | ioSetFlag,
		reg: byWidth{aad},
	},
}

// logical is SDM vol. 1, 5.1.4. not is the one that leaves the flags alone.
var logical = map[x86asm.Op]row{
	x86asm.AND: twoOperands(binaryOp{and[uint8], and[uint16], and[uint32], and[uint64]}, clALU, clALUMem, 0),
	x86asm.OR:  twoOperands(binaryOp{or[uint8], or[uint16], or[uint32], or[uint64]}, clALU, clALUMem, 0),
	x86asm.XOR: twoOperands(binaryOp{xor[uint8], xor[uint16], xor[uint32], xor[uint64]}, clALU, clALUMem, 0),
	x86asm.NOT: oneOperand(unaryOp{not[uint8], not[uint16], not[uint32], not[uint64]}, 0),
}

// shiftAndRotate is SDM vol. 1, 5.1.5. A count of zero leaves the flags alone. The cost models do
// not look at the count: behind any of them the flags are ready with the result. Rotates through
// the carry take CF in. shld and shrd wait for cl even if the count is in the instruction.
var shiftAndRotate = map[x86asm.Op]row{
	// SAL and SHL are one operation with two opcodes.
	x86asm.SAR: shifted(countedOp{sar[uint8], sar[uint16], sar[uint32], sar[uint64]}, clShift, clShiftMem, ioSetFlag),
	x86asm.SHR: shifted(countedOp{shr[uint8], shr[uint16], shr[uint32], shr[uint64]}, clShift, clShiftMem, ioSetFlag),
	x86asm.SHL: shifted(countedOp{shl[uint8], shl[uint16], shl[uint32], shl[uint64]}, clShift, clShiftMem, ioSetFlag),
	x86asm.ROR: shifted(countedOp{ror[uint8], ror[uint16], ror[uint32], ror[uint64]}, clShift, clShiftMem, ioSetCarry),
	x86asm.ROL: shifted(countedOp{rol[uint8], rol[uint16], rol[uint32], rol[uint64]}, clShift, clShiftMem, ioSetCarry),

	// Through the carry: slower, and of one class for registers and memory.
	x86asm.RCR: shifted(countedOp{rcr[uint8], rcr[uint16], rcr[uint32], rcr[uint64]}, clRotateCarry, 0, ioSetCarry|ioReadCarry),
	x86asm.RCL: shifted(countedOp{rcl[uint8], rcl[uint16], rcl[uint32], rcl[uint64]}, clRotateCarry, 0, ioSetCarry|ioReadCarry),
	// The count is the third operand, which bindDouble takes.
	x86asm.SHRD: {
		bind: bindDouble, class: clShiftDouble, io: ioArith | ioReadC,
		reg: byWidth{nil, shrdR[uint16], shrdR[uint32], shrdR[uint64]},
		mem: byWidth{nil, shrdM[uint16], shrdM[uint32], shrdM[uint64]},
	},
	x86asm.SHLD: {
		bind: bindDouble, class: clShiftDouble, io: ioArith | ioReadC,
		reg: byWidth{nil, shldR[uint16], shldR[uint32], shldR[uint64]},
		mem: byWidth{nil, shldM[uint16], shldM[uint32], shldM[uint64]},
	},
}

// The rows of bit scans.
var (
	scanForward = row{
		bind: bindTwo, class: clBitScan, io: ioArith,
		reg:  byWidth{nil, bsfR[uint16], bsfR[uint32], bsfR[uint64]},
		load: byWidth{nil, bsfL[uint16], bsfL[uint32], bsfL[uint64]},
	}
	scanBackward = row{
		bind: bindTwo, class: clBitScan, io: ioArith,
		reg:  byWidth{nil, bsrR[uint16], bsrR[uint32], bsrR[uint64]},
		load: byWidth{nil, bsrL[uint16], bsrL[uint32], bsrL[uint64]},
	}
)

// bitAndByte is SDM vol. 1, 5.1.6. bt and its kin have no class of their own for a bit in memory
// at an immediate index: both kinds are bit strings. bsf and bsr wait for their destination,
// which they keep when the source is zero.
var bitAndByte = map[x86asm.Op]row{
	// bt with memory may be far from its address: see bitAddress.
	x86asm.BT: {
		bind: bindTwo, class: clBitTest, inMem: clBitString,
		io:  ioReadDst | ioNoWrite | ioSetCarry,
		reg: byWidth{nil, btR[uint16], btR[uint32], btR[uint64]},
		mem: byWidth{nil, btM[uint16], btM[uint32], btM[uint64]},
	},
	x86asm.BTS: bitChanged(countedOp{nil, bts[uint16], bts[uint32], bts[uint64]}),
	x86asm.BTR: bitChanged(countedOp{nil, btr[uint16], btr[uint32], btr[uint64]}),
	x86asm.BTC: bitChanged(countedOp{nil, btc[uint16], btc[uint32], btc[uint64]}),
	// The destination is left alone by a source of zero.
	x86asm.BSF: scanForward,
	x86asm.BSR: scanBackward,

	x86asm.POPCNT: {
		bind: bindTwo, class: clBitScan, io: ioSetFlag,
		reg:  byWidth{nil, popcntR[uint16], popcntR[uint32], popcntR[uint64]},
		load: byWidth{nil, popcntL[uint16], popcntL[uint32], popcntL[uint64]},
	},

	// Without BMI1 and ABM, which no machine here has, the prefix of these means nothing.
	x86asm.TZCNT: scanForward,
	x86asm.LZCNT: scanBackward,

	// test is an and that writes nothing. It has no form with memory as the source: the
	// decoder puts the memory operand first.
	x86asm.TEST: {bind: bindTwo, class: clALU, io: ioArith | ioNoWrite, reg: tested.reg(true), mem: tested.mem(true)},
}
