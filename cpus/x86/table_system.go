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

	// 16-bit selectors, in registers only.
	x86asm.LLDT: {
		bind: bindSystemReg, class: clLtr, io: ioNoWrite, flags: engine.Ends,
		reg: byWidth{lldt},
	},
	x86asm.SLDT: {
		bind: bindSystemReg, class: clDescriptor, flags: engine.Ends,
		reg: byWidth{sldt},
	},
	x86asm.LTR: {
		bind: bindSystemReg, class: clLtr, io: ioNoWrite, flags: engine.Ends,
		reg: byWidth{ltr},
	},
	x86asm.STR: {
		bind: bindSystemReg, class: clDescriptor, flags: engine.Ends,
		reg: byWidth{str},
	},

	// Without operands.
	x86asm.CLTS:   ending(clts, clToCR, 0),
	x86asm.HLT:    ending(hlt, clHlt, 0),
	x86asm.INVD:   ending(wbinvd, clWbinvd, 0),
	x86asm.WBINVD: ending(wbinvd, clWbinvd, 0),
	// An address that is not accessed.
	x86asm.INVLPG: {
		bind: bindMem, class: clInvlpg, flags: engine.Ends,
		reg: byWidth{invlpg},
	},
	// edx:eax is the operand, ecx the number.
	x86asm.RDMSR: ending(rdmsr, clRdmsr, ioSetA|ioSetD|ioReadC),
	x86asm.WRMSR: ending(wrmsr, clWrmsr, 0),
	x86asm.RDTSC: ending(rdtsc, clRdtsc, ioSetA|ioSetD),

	// The fast calls. 64-bit mode has sysenter on Intel's processors too, which is not modelled; the
	// decoder knows syscall, sysret and swapgs in 64-bit mode only.
	x86asm.SYSENTER: {
		bind: bindModeWidth, class: clSyscall, flags: engine.Ends,
		reg: byWidth{size32: sysenter},
	},
	x86asm.SYSEXIT: {
		bind: bindModeWidth, class: clSysret, flags: engine.Ends,
		reg: byWidth{size32: sysexit},
	},
	x86asm.SYSCALL: ending(syscall, clSyscall, 0),
	x86asm.SYSRET: {
		bind: bindSysret, class: clSysret, flags: engine.Ends,
		reg: byWidth{sysret},
	},
	x86asm.SWAPGS: ending(swapgs, clSwapgs, 0),

	// int1 should be #DB; it is not modelled, and counted as such.
	x86asm.ICEBP: ending(execUndefined, clUndefined, 0),
}
