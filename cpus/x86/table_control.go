package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// The general-purpose instructions that direct the flow of control, move strings and work on flags
// (SDM vol. 1, 5.1.7 to 5.1.13), and the ordering of memory accesses (5.5.4, 5.6.4).

// controlTransfer is SDM vol. 1, 5.1.7.
//
//   - jmp and call have no operand size: a near branch has the mode's width. Their relative forms
//     stand in mem, for want of a destination in memory.
//   - The far forms have the operand size. Those with the pointer in the instruction exist in
//     32-bit mode only and stand in load.
//   - loop and jcxz count in the width of an address. aux says which ZF loop wants: see loop.
//   - iretd is here by the mode that it is in, and iretq is 64-bit mode's.
var controlTransfer = map[x86asm.Op]row{
	// jmp through memory loads its target; the class of both indirect forms is in inMem.
	x86asm.JMP: {
		bind: bindBranch, class: clJmp, inMem: clJmpIndirect,
		reg:  byWidth{size32: jmpR[uint32], size64: jmpR[uint64]},
		load: byWidth{size32: jmpL[uint32], size64: jmpL[uint64]},
		mem:  byWidth{size16: jmpRel, size32: jmpRel, size64: jmpRel},
	},

	// Three names for the address sizes.
	x86asm.JCXZ:   onCount(0, 0, byWidth{nil, jcxz[uint16], jcxz[uint32], jcxz[uint64]}),
	x86asm.JECXZ:  onCount(0, 0, byWidth{nil, jcxz[uint16], jcxz[uint32], jcxz[uint64]}),
	x86asm.JRCXZ:  onCount(0, 0, byWidth{nil, jcxz[uint16], jcxz[uint32], jcxz[uint64]}),
	x86asm.LOOP:   onCount(ioSetC, 0, byWidth{nil, loop[uint16], loop[uint32], loop[uint64]}),
	x86asm.LOOPE:  onCount(ioSetC|ioReadFlag, 2, byWidth{nil, loop[uint16], loop[uint32], loop[uint64]}),
	x86asm.LOOPNE: onCount(ioSetC|ioReadFlag, 1, byWidth{nil, loop[uint16], loop[uint32], loop[uint64]}),

	// call stores its return address in every form.
	x86asm.CALL: {
		bind: bindBranch, class: clCall, inMem: clCallIndirect, flags: engine.Stores | engine.Pushes,
		reg:  byWidth{size32: callR[uint32], size64: callR[uint64]},
		load: byWidth{size32: callL[uint32], size64: callL[uint64]},
		mem:  byWidth{size16: call16, size32: callRel[uint32], size64: callRel[uint64]},
	},
	// The immediate is the size of arguments that the callee drops.
	x86asm.RET: {
		bind: bindModeWidth, class: clRet, flags: engine.Loads | engine.Ends | engine.Pops,
		reg: byWidth{size32: ret[uint32], size64: ret[uint64]},
	},
	x86asm.LJMP: {
		bind: bindFar, class: clFar,
		reg:  byWidth{nil, ljmp[uint16], ljmp[uint32], ljmp[uint64]},
		load: byWidth{size32: ljmpTo},
	},
	x86asm.LCALL: {
		bind: bindFar, class: clFar, flags: engine.Stores,
		reg:  byWidth{nil, lcall[uint16], lcall[uint32], lcall[uint64]},
		load: byWidth{size32: lcallTo},
	},
	x86asm.LRET: {
		bind: bindSizedImm, class: clFar, flags: engine.Loads | engine.Ends,
		reg: byWidth{nil, lret[uint16], lret[uint32], lret[uint64]},
	},

	x86asm.IRETD: {
		bind: bindModeWidth, class: clIret, flags: engine.Loads | engine.Ends,
		reg: byWidth{size32: iret32, size64: iret64[uint32]},
	},
	x86asm.IRETQ: {
		bind: bindNone, class: clIret, flags: engine.Loads | engine.Ends,
		reg: byWidth{iret64[uint64]},
	},
	// int3, which kprobes are made of, is bound by its opcode.
	x86asm.INT:  {bind: bindInt, reg: byWidth{intN}, class: clInt, flags: engine.Ends},
	x86asm.INTO: ending(into, clJcc, ioReadFlag),
	// bound has two limits behind one another in memory, of the operand size each.
	x86asm.BOUND: {
		bind: bindTwo, class: clLoad, io: ioReadDst | ioNoWrite,
		load: byWidth{nil, bound[uint16], bound[uint32]},
	},
}

// stringInstructions is SDM vol. 1, 5.1.8. rep, repe and repne are operands of them; see repeat.
// Instructions of 5.1.9 that talk to an I/O port are not modelled.
var stringInstructions = map[x86asm.Op]row{
	// Loads and stores.
	x86asm.MOVSB: stringOf(movs[uint8], clString, engine.Loads|engine.Stores, 0),
	x86asm.MOVSW: stringOf(movs[uint16], clString, engine.Loads|engine.Stores, 0),
	x86asm.MOVSD: stringOf(movs[uint32], clString, engine.Loads|engine.Stores, 0),
	x86asm.MOVSQ: stringOf(movs[uint64], clString, engine.Loads|engine.Stores, 0),

	// Two loads, and a comparison as in cmp.
	x86asm.CMPSB: stringOf(cmps[uint8], clCompareString, engine.Loads, ioSetFlag),
	x86asm.CMPSW: stringOf(cmps[uint16], clCompareString, engine.Loads, ioSetFlag),
	x86asm.CMPSD: stringOf(cmps[uint32], clCompareString, engine.Loads, ioSetFlag),
	x86asm.CMPSQ: stringOf(cmps[uint64], clCompareString, engine.Loads, ioSetFlag),

	x86asm.SCASB: stringOf(scas[uint8], clCompareString, engine.Loads, ioReadA|ioSetFlag),
	x86asm.SCASW: stringOf(scas[uint16], clCompareString, engine.Loads, ioReadA|ioSetFlag),
	x86asm.SCASD: stringOf(scas[uint32], clCompareString, engine.Loads, ioReadA|ioSetFlag),
	x86asm.SCASQ: stringOf(scas[uint64], clCompareString, engine.Loads, ioReadA|ioSetFlag),

	x86asm.LODSB: stringOf(lods[uint8], clString, engine.Loads, ioSetA),
	x86asm.LODSW: stringOf(lods[uint16], clString, engine.Loads, ioSetA),
	x86asm.LODSD: stringOf(lods[uint32], clString, engine.Loads, ioSetA),
	x86asm.LODSQ: stringOf(lods[uint64], clString, engine.Loads, ioSetA),

	x86asm.STOSB: stringOf(stos[uint8], clString, engine.Stores, ioReadA),
	x86asm.STOSW: stringOf(stos[uint16], clString, engine.Stores, ioReadA),
	x86asm.STOSD: stringOf(stos[uint32], clString, engine.Stores, ioReadA),
	x86asm.STOSQ: stringOf(stos[uint64], clString, engine.Stores, ioReadA),
}

// enterAndLeave is SDM vol. 1, 5.1.10.
var enterAndLeave = map[x86asm.Op]row{
	// Both have the stack width of the mode, and the prefix 66 the width of the frame pointer.
	x86asm.ENTER: {
		bind: bindModeWidth, class: clEnter, flags: engine.Stores | engine.Ends | engine.Pushes, also: 1 << rbp,
		reg: byWidth{nil, enter[uint16], enter[uint32], enter[uint64]},
	},
	x86asm.LEAVE: {
		bind: bindModeWidth, class: clLeave, io: ioFrame, flags: engine.Loads,
		reg: byWidth{nil, leave[uint16], leave[uint32], leave[uint64]},
	},
}

// flagControl is SDM vol. 1, 5.1.11. What keeps some flags does not wait for them, as their parts are
// renamed apart: clc and stc, and sahf, which keeps OF. lahf likewise keeps the rest of rax. A pushf or
// popf has the mode's width, or 16 bits. popf, cli and sti end a block: behind them an interrupt may be
// taken, or a trap. cld and std change a flag that nothing waits for.
var flagControl = map[x86asm.Op]row{
	// Single flags.
	x86asm.STC:  implied(stc, clFlag, ioSetCarry),
	x86asm.CLC:  implied(clc, clFlag, ioSetCarry),
	x86asm.CMC:  implied(cmc, clFlag, ioSetCarry|ioReadCarry),
	x86asm.CLD:  implied(cld, clDirection, 0),
	x86asm.STD:  implied(std, clDirection, 0),
	x86asm.LAHF: implied(lahf, clFlag, ioReadFlag|ioSetA),
	x86asm.SAHF: implied(sahf, clFlag, ioSetFlag|ioReadA),

	x86asm.PUSHF:  pushFlags(),
	x86asm.PUSHFD: pushFlags(),
	x86asm.PUSHFQ: pushFlags(),

	x86asm.POPF:  popFlags(),
	x86asm.POPFD: popFlags(),
	x86asm.POPFQ: popFlags(),

	x86asm.STI: ending(sti, clSti, 0),
	x86asm.CLI: ending(cli, clCli, 0),
}

// farPointers is SDM vol. 1, 5.1.12. A pointer lies in memory, offset first. aux is the segment. 64-bit
// mode has no lds and no les.
var farPointers = map[x86asm.Op]row{
	x86asm.LDS: pointerTo(segDS, nil),
	x86asm.LES: pointerTo(segES, nil),
	x86asm.LFS: pointerTo(segFS, farPointer[uint64]),
	x86asm.LGS: pointerTo(segGS, farPointer[uint64]),
	x86asm.LSS: pointerTo(segSS, farPointer[uint64]),
}

func pointerTo(seg uint8, wide exec) row {
	return row{
		bind: bindFarPointer, class: clToSeg, aux: seg,
		load: byWidth{nil, farPointer[uint16], farPointer[uint32], wide},
	}
}

// miscellaneous is SDM vol. 1, 5.1.13.
// lea takes the address as its result and touches no memory. ud2 is a row so that its #UD is not
// counted as an instruction that is not modelled.
var miscellaneous = map[x86asm.Op]row{
	// No byte form.
	x86asm.LEA: {
		bind: bindLea, class: clLea, io: ioReadBase,
		reg: byWidth{nil, leaR[uint16], leaR[uint32], leaR[uint64]},
	},

	x86asm.NOP: {bind: bindNop, class: clNop},
	x86asm.UD2: ending(ud2, clUndefined, 0),

	// The table's address is implied; only its segment is encoded.
	x86asm.XLATB: {
		bind: bindXlat, class: clXlat, io: ioReadA | ioSetA, flags: engine.Loads,
		reg: byWidth{xlat},
	},
	x86asm.CPUID: {bind: bindNone, class: clCpuid, io: ioReadA | ioReadC | ioSetA | ioSetC | ioSetD, flags: engine.Ends, also: 1 << rbx, reg: byWidth{cpuid}},
	// salc is in no manual of ours and in every processor: al becomes all ones if CF is set, or zero.
	opSALC: implied(salc, clSetcc, ioReadCarry|ioSetA),
}

// cacheControl is SDM vol. 1, 5.5.4 and 5.6.4. Loads and stores are in order each, so that a fence of either kind
// takes time and does nothing else; prefetches find nothing to do either.
var cacheControl = map[x86asm.Op]row{
	// A prefetch is a hint.
	x86asm.PREFETCHT0:  {bind: bindNop, class: clNop},
	x86asm.PREFETCHT1:  {bind: bindNop, class: clNop},
	x86asm.PREFETCHT2:  {bind: bindNop, class: clNop},
	x86asm.PREFETCHNTA: {bind: bindNop, class: clNop},
	x86asm.PREFETCHW:   {bind: bindNop, class: clNop},
	// A fence has a class of its own, since machines differ in what it costs.
	x86asm.SFENCE: implied(nop, clSfence, 0),
	x86asm.LFENCE: implied(nop, clLfence, 0),
	x86asm.MFENCE: implied(mfence, clFence, 0),
	// pause is the hint of a loop that waits. What it costs is its class.
	x86asm.PAUSE: {bind: bindNop, class: clPause},
}
