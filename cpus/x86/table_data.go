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
	// The source has a width of its own: extendReg and extendLoad choose by both.
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
	x86asm.ADD: {
		bind: bindTwo, class: clALU, inMem: clALUMem, io: ioArith | ioLock,
		reg:  byWidth{addR[uint8], addR[uint16], addR[uint32], addR[uint64]},
		load: byWidth{addL[uint8], addL[uint16], addL[uint32], addL[uint64]},
		mem:  byWidth{addM[uint8], addM[uint16], addM[uint32], addM[uint64]},
	},
	x86asm.ADC: {
		bind: bindTwo, class: clCarry, inMem: clCarryMem,
		io:   ioArith | ioReadCarry | ioLock,
		reg:  byWidth{adcR[uint8], adcR[uint16], adcR[uint32], adcR[uint64]},
		load: byWidth{adcL[uint8], adcL[uint16], adcL[uint32], adcL[uint64]},
		mem:  byWidth{adcM[uint8], adcM[uint16], adcM[uint32], adcM[uint64]},
	},
	x86asm.SUB: {
		bind: bindTwo, class: clALU, inMem: clALUMem, io: ioArith | ioLock,
		reg:  byWidth{subR[uint8], subR[uint16], subR[uint32], subR[uint64]},
		load: byWidth{subL[uint8], subL[uint16], subL[uint32], subL[uint64]},
		mem:  byWidth{subM[uint8], subM[uint16], subM[uint32], subM[uint64]},
	},
	x86asm.SBB: {
		bind: bindTwo, class: clCarry, inMem: clCarryMem,
		io:   ioArith | ioReadCarry | ioLock,
		reg:  byWidth{sbbR[uint8], sbbR[uint16], sbbR[uint32], sbbR[uint64]},
		load: byWidth{sbbL[uint8], sbbL[uint16], sbbL[uint32], sbbL[uint64]},
		mem:  byWidth{sbbM[uint8], sbbM[uint16], sbbM[uint32], sbbM[uint64]},
	},
	// cmp is a sub that writes nothing, so it neither stores nor locks.
	x86asm.CMP: {
		bind: bindTwo, class: clALU, io: ioArith | ioNoWrite,
		reg:  byWidth{cmpR[uint8], cmpR[uint16], cmpR[uint32], cmpR[uint64]},
		load: byWidth{cmpL[uint8], cmpL[uint16], cmpL[uint32], cmpL[uint64]},
		mem:  byWidth{cmpM[uint8], cmpM[uint16], cmpM[uint32], cmpM[uint64]},
	},

	// One operand.
	x86asm.INC: {
		bind: bindOne, class: clALU, inMem: clALUMem,
		io:  ioReadDst | ioSetPart | ioLock,
		reg: byWidth{incR[uint8], incR[uint16], incR[uint32], incR[uint64]},
		mem: byWidth{incM[uint8], incM[uint16], incM[uint32], incM[uint64]},
	},
	x86asm.DEC: {
		bind: bindOne, class: clALU, inMem: clALUMem,
		io:  ioReadDst | ioSetPart | ioLock,
		reg: byWidth{decR[uint8], decR[uint16], decR[uint32], decR[uint64]},
		mem: byWidth{decM[uint8], decM[uint16], decM[uint32], decM[uint64]},
	},
	x86asm.NEG: {
		bind: bindOne, class: clALU, inMem: clALUMem, io: ioArith | ioLock,
		reg: byWidth{negR[uint8], negR[uint16], negR[uint32], negR[uint64]},
		mem: byWidth{negM[uint8], negM[uint16], negM[uint32], negM[uint64]},
	},

	// The byte form has one operand only.
	x86asm.IMUL: {
		bind: bindImul, class: clImul, io: ioArith,
		reg:  byWidth{nil, imulR[uint16], imulR[uint32], imulR[uint64]},
		load: byWidth{nil, imulL[uint16], imulL[uint32], imulL[uint64]},
	},
	// The destination is dx:ax and the like, so io has it, and reg and mem the source.
	x86asm.MUL: {
		bind: bindWide, class: clMul, io: ioReadA | ioSetA | ioSetD | ioSetFlag,
		reg: byWidth{mulR[uint8], mulR[uint16], mulR[uint32], mulR[uint64]},
		mem: byWidth{mulM[uint8], mulM[uint16], mulM[uint32], mulM[uint64]},
	},
	x86asm.DIV: {
		bind: bindWide, class: clDiv32, io: ioReadA | ioReadD | ioSetA | ioSetD,
		reg: byWidth{divR[uint8], divR[uint16], divR[uint32], divR[uint64]},
		mem: byWidth{divM[uint8], divM[uint16], divM[uint32], divM[uint64]},
	},
	x86asm.IDIV: {
		bind: bindWide, class: clDiv32, io: ioReadA | ioReadD | ioSetA | ioSetD,
		reg: byWidth{idivR[uint8], idivR[uint16], idivR[uint32], idivR[uint64]},
		mem: byWidth{idivM[uint8], idivM[uint16], idivM[uint32], idivM[uint64]},
	},
}

// popped are the registers that popa sets beside the stack pointer.
const popped = 1<<rax | 1<<rcx | 1<<rdx | 1<<rbx | 1<<rbp | 1<<rsi | 1<<rdi

// imul1 and imul3 are the forms of imul with one and with three operands.
var (
	imul1 = row{
		class: clMul, io: ioReadA | ioSetA | ioSetD | ioSetFlag,
		reg: byWidth{imul1R[uint8], imul1R[uint16], imul1R[uint32], imul1R[uint64]},
		mem: byWidth{imul1M[uint8], imul1M[uint16], imul1M[uint32], imul1M[uint64]},
	}
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
	x86asm.AND: {
		bind: bindTwo, class: clALU, inMem: clALUMem, io: ioArith | ioLock,
		reg:  byWidth{andR[uint8], andR[uint16], andR[uint32], andR[uint64]},
		load: byWidth{andL[uint8], andL[uint16], andL[uint32], andL[uint64]},
		mem:  byWidth{andM[uint8], andM[uint16], andM[uint32], andM[uint64]},
	},
	x86asm.OR: {
		bind: bindTwo, class: clALU, inMem: clALUMem, io: ioArith | ioLock,
		reg:  byWidth{orR[uint8], orR[uint16], orR[uint32], orR[uint64]},
		load: byWidth{orL[uint8], orL[uint16], orL[uint32], orL[uint64]},
		mem:  byWidth{orM[uint8], orM[uint16], orM[uint32], orM[uint64]},
	},
	x86asm.XOR: {
		bind: bindTwo, class: clALU, inMem: clALUMem, io: ioArith | ioLock,
		reg:  byWidth{xorR[uint8], xorR[uint16], xorR[uint32], xorR[uint64]},
		load: byWidth{xorL[uint8], xorL[uint16], xorL[uint32], xorL[uint64]},
		mem:  byWidth{xorM[uint8], xorM[uint16], xorM[uint32], xorM[uint64]},
	},
	x86asm.NOT: {
		bind: bindOne, class: clALU, inMem: clALUMem, io: ioReadDst | ioLock,
		reg: byWidth{notR[uint8], notR[uint16], notR[uint32], notR[uint64]},
		mem: byWidth{notM[uint8], notM[uint16], notM[uint32], notM[uint64]},
	},
}

// shiftAndRotate is SDM vol. 1, 5.1.5. A count of zero leaves the flags alone. The cost models do
// not look at the count: behind any of them the flags are ready with the result. Rotates through
// the carry take CF in. shld and shrd wait for cl even if the count is in the instruction.
var shiftAndRotate = map[x86asm.Op]row{
	// SAL and SHL are one operation with two opcodes.
	x86asm.SAR: shifted(
		byWidth{sarR[uint8], sarR[uint16], sarR[uint32], sarR[uint64]},
		byWidth{sarM[uint8], sarM[uint16], sarM[uint32], sarM[uint64]}),
	x86asm.SHR: shifted(
		byWidth{shrR[uint8], shrR[uint16], shrR[uint32], shrR[uint64]},
		byWidth{shrM[uint8], shrM[uint16], shrM[uint32], shrM[uint64]}),
	x86asm.SHL: shifted(
		byWidth{shlR[uint8], shlR[uint16], shlR[uint32], shlR[uint64]},
		byWidth{shlM[uint8], shlM[uint16], shlM[uint32], shlM[uint64]}),
	x86asm.ROR: shifted(
		byWidth{rorR[uint8], rorR[uint16], rorR[uint32], rorR[uint64]},
		byWidth{rorM[uint8], rorM[uint16], rorM[uint32], rorM[uint64]}),
	x86asm.ROL: shifted(
		byWidth{rolR[uint8], rolR[uint16], rolR[uint32], rolR[uint64]},
		byWidth{rolM[uint8], rolM[uint16], rolM[uint32], rolM[uint64]}),

	// Through the carry: slower, and of one class for registers and memory.
	x86asm.RCR: {
		bind: bindShift, class: clRotateCarry, io: ioArith | ioReadCarry,
		reg: byWidth{rcrR[uint8], rcrR[uint16], rcrR[uint32], rcrR[uint64]},
		mem: byWidth{rcrM[uint8], rcrM[uint16], rcrM[uint32], rcrM[uint64]},
	},
	x86asm.RCL: {
		bind: bindShift, class: clRotateCarry, io: ioArith | ioReadCarry,
		reg: byWidth{rclR[uint8], rclR[uint16], rclR[uint32], rclR[uint64]},
		mem: byWidth{rclM[uint8], rclM[uint16], rclM[uint32], rclM[uint64]},
	},
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

// bitAndByte is SDM vol. 1, 5.1.6. bt and its kin have no class of their own for a bit in memory
// at an immediate index: both kinds are bit strings. bsf and bsr wait for their destination,
// which they keep when the source is zero.
var bitAndByte = map[x86asm.Op]row{
	// bt with memory may be far from its address: see bitAddress.
	x86asm.BT: {
		bind: bindTwo, class: clBitTest, inMem: clBitString,
		io:  ioArith | ioNoWrite,
		reg: byWidth{nil, btR[uint16], btR[uint32], btR[uint64]},
		mem: byWidth{nil, btM[uint16], btM[uint32], btM[uint64]},
	},
	x86asm.BTS: {
		bind: bindTwo, class: clBitTest, inMem: clBitString, io: ioArith | ioLock,
		reg: byWidth{nil, btsR[uint16], btsR[uint32], btsR[uint64]},
		mem: byWidth{nil, btsM[uint16], btsM[uint32], btsM[uint64]},
	},
	x86asm.BTR: {
		bind: bindTwo, class: clBitTest, inMem: clBitString, io: ioArith | ioLock,
		reg: byWidth{nil, btrR[uint16], btrR[uint32], btrR[uint64]},
		mem: byWidth{nil, btrM[uint16], btrM[uint32], btrM[uint64]},
	},
	x86asm.BTC: {
		bind: bindTwo, class: clBitTest, inMem: clBitString, io: ioArith | ioLock,
		reg: byWidth{nil, btcR[uint16], btcR[uint32], btcR[uint64]},
		mem: byWidth{nil, btcM[uint16], btcM[uint32], btcM[uint64]},
	},
	// The destination is left alone by a source of zero.
	x86asm.BSF: {
		bind: bindTwo, class: clBitScan, io: ioArith,
		reg:  byWidth{nil, bsfR[uint16], bsfR[uint32], bsfR[uint64]},
		load: byWidth{nil, bsfL[uint16], bsfL[uint32], bsfL[uint64]},
	},
	x86asm.BSR: {
		bind: bindTwo, class: clBitScan, io: ioArith,
		reg:  byWidth{nil, bsrR[uint16], bsrR[uint32], bsrR[uint64]},
		load: byWidth{nil, bsrL[uint16], bsrL[uint32], bsrL[uint64]},
	},

	// Without BMI1 and ABM, which no machine here has, the prefix of these means nothing.
	x86asm.TZCNT: {
		bind: bindTwo, class: clBitScan, io: ioArith,
		reg:  byWidth{nil, bsfR[uint16], bsfR[uint32], bsfR[uint64]},
		load: byWidth{nil, bsfL[uint16], bsfL[uint32], bsfL[uint64]},
	},
	x86asm.LZCNT: {
		bind: bindTwo, class: clBitScan, io: ioArith,
		reg:  byWidth{nil, bsrR[uint16], bsrR[uint32], bsrR[uint64]},
		load: byWidth{nil, bsrL[uint16], bsrL[uint32], bsrL[uint64]},
	},

	// test is an and that writes nothing. It has no form with memory as the source: the
	// decoder puts the memory operand first.
	x86asm.TEST: {
		bind: bindTwo, class: clALU, io: ioArith | ioNoWrite,
		reg: byWidth{testR[uint8], testR[uint16], testR[uint32], testR[uint64]},
		mem: byWidth{testM[uint8], testM[uint16], testM[uint32], testM[uint64]},
	},
}
