package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// system is SDM vol. 1, 5.20, and from 5.21 what only 64-bit mode has. All of them end a block:
// most change how the next instruction is fetched or executed, and the fetch behind them must
// look anew. lock, mov to and from control and debug registers and the instructions of
// virtualization are not here: the first is a prefix, the second are forms of mov, the last are
// not modelled.
var system = map[x86asm.Op]row{
	// Images of the tables' registers have the width of the mode, so bindTable chooses.
	x86asm.LGDT: {
		bind: bindTable, class: clDescriptor, flags: engine.Loads | engine.Ends,
		reg: byWidth{size32: lgdt[uint32], size64: lgdt[uint64]},
	},
	x86asm.SGDT: {
		bind: bindTable, class: clDescriptor, flags: engine.Stores | engine.Ends,
		reg: byWidth{size32: sgdt[uint32], size64: sgdt[uint64]},
	},
	x86asm.LIDT: {
		bind: bindTable, class: clDescriptor, flags: engine.Loads | engine.Ends,
		reg: byWidth{size32: lidt[uint32], size64: lidt[uint64]},
	},
	x86asm.SIDT: {
		bind: bindTable, class: clDescriptor, flags: engine.Stores | engine.Ends,
		reg: byWidth{size32: sidt[uint32], size64: sidt[uint64]},
	},

	// Selectors and the machine status word, which have 16 bits.
	x86asm.LLDT: ofSelectorAtLevel0((*CPU).loadLDT, clLtr),
	x86asm.LTR:  ofSelectorAtLevel0((*CPU).loadTR, clLtr),
	x86asm.LMSW: ofSelectorAtLevel0((*CPU).loadStatus, clToCR),
	x86asm.SLDT: giving(sldt),
	x86asm.STR:  giving(str),
	x86asm.SMSW: giving(smsw),
	// What a selector names. Processors load the descriptor as for a segment register.
	x86asm.LAR: {
		bind: bindQuery, class: clToSeg, io: ioReadDst | ioSetFlag, flags: engine.Loads | engine.Ends,
		reg:  byWidth{nil, larR[uint16], larR[uint32], larR[uint64]},
		load: byWidth{nil, larL[uint16], larL[uint32], larL[uint64]},
	},
	x86asm.LSL: {
		bind: bindQuery, class: clToSeg, io: ioReadDst | ioSetFlag, flags: engine.Loads | engine.Ends,
		reg:  byWidth{nil, lslR[uint16], lslR[uint32], lslR[uint64]},
		load: byWidth{nil, lslL[uint16], lslL[uint32], lslL[uint64]},
	},
	x86asm.VERR: ofSelector(verr, clToSeg, ioSetFlag, engine.Loads),
	x86asm.VERW: ofSelector(verw, clVerw, ioSetFlag, engine.Loads),
	x86asm.ARPL: {
		bind: bindTwo, class: clALU, io: ioArith,
		reg: byWidth{size16: arplR}, mem: byWidth{size16: arplM},
	},

	// Without operands.
	x86asm.CLTS:   ending(clts, clClts, 0),
	x86asm.HLT:    ending(hlt, clHlt, 0),
	x86asm.INVD:   ending(wbinvd, clWbinvd, 0),
	x86asm.WBINVD: ending(wbinvd, clWbinvd, 0),
	// An address that is not accessed.
	x86asm.INVLPG: {
		bind: bindMem, class: clInvlpg, flags: engine.Ends,
		reg: byWidth{invlpg},
	},
	x86asm.INVPCID: {
		bind: bindRegMem, class: clInvpcid, io: ioReadDst | ioNoWrite, flags: engine.Loads | engine.Ends,
		reg: byWidth{invpcid},
	},
	opSTAC: ending(stac, clStac, 0),
	opCLAC: ending(clac, clStac, 0),
	// edx:eax is the operand, ecx the number.
	x86asm.RDMSR: ending(rdmsr, clRdmsr, ioSetA|ioSetD|ioReadC),
	x86asm.WRMSR: ending(wrmsr, clWrmsr, 0),
	x86asm.RDTSC: ending(rdtsc, clRdtsc, ioSetA|ioSetD),

	// The fast calls, as Intel's processors have them: sysenter in every mode, and syscall and sysret,
	// which the decoder knows in 64-bit mode only. The operand size chooses the mode that a return
	// goes to.
	x86asm.SYSENTER: ending(sysenter, clSysenter, 0),
	x86asm.SYSEXIT: {
		bind: bindSizedImm, class: clSysexit, flags: engine.Ends,
		reg: byWidth{nil, sysexit32, sysexit32, sysexit64},
	},
	x86asm.SYSCALL: {bind: bindNone, class: clSyscall, io: ioSetC, flags: engine.Ends, also: 1 << r11, reg: byWidth{syscall}},
	x86asm.SYSRET: {
		bind: bindSizedImm, class: clSysret, flags: engine.Ends,
		reg: byWidth{nil, sysret32, sysret32, sysret64},
	},
	x86asm.SWAPGS: ending(swapgs, clSwapgs, 0),

	// There are no performance counters, of which ecx could name one.
	x86asm.RDPMC: ending(rdpmc, clRdmsr, ioReadC),
	// int1 is #DB, as a debugger of hardware asks for it.
	x86asm.ICEBP: ending(int1, clInt, 0),
}
