package x86

import (
	"debug/elf"
	"encoding/binary"
	"slices"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// APICBase is the physical address of the local APIC's registers after reset (SDM vol. 3, 10.4.1).
const APICBase = 0xfee00000

// LineNMI latches a non-maskable interrupt, which is taken when no earlier one is being handled.
const LineNMI = 0

// ISA64 returns the description of 64-bit mode. Every call makes a value of its own, which its
// holder may change: there is no state of the package.
func ISA64() *cpus.ISA {
	classes, inherited := allClasses()
	isa := &cpus.ISA{
		Name: "x86_64", Bits: 64, Machine: elf.EM_X86_64, Order: binary.LittleEndian,
		Classes: classes, Inherited: inherited, Fusible: fusibleNames[1:], Conditions: conditionNames[:], Events: append(engine.Events(), eventNames[:]...), Spared: engine.Spared(), Ports: engine.Ports(),
		Lines: []string{LineNMI: "nmi"},
		Deliveries: []string{
			"event.exception_breakpoint.cycles", "event.exception_debug.cycles", "event.exception_fault.cycles", "event.interrupt.cycles", "cost.iret.issue",
		},
		StoresWait: true,
		Exceptions: exceptionNames(),
		Answers:    answerTables, CheckAnswers: checkAnswers,
		Tables: longFormat(true, maxPhysBits).build,
		Disasm: disasm(64),
		GDB:    gdbRegisters(64, slices.Concat([]string{"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"}, regNames[8:16], []string{"rip"})...),
	}
	isa.New = creates(isa, true, (*CPU).reset64)
	return isa
}

// ISA32 returns the description of 32-bit protected mode. What does not belong to the mode is that
// of 64-bit mode: a machine description serves both.
func ISA32() *cpus.ISA {
	isa := ISA64()
	isa.Name, isa.Bits, isa.Machine = "i386", 32, elf.EM_386
	isa.Tables = legacyFormat(true).build
	isa.New, isa.Disasm = creates(isa, false, (*CPU).reset32), disasm(32)
	isa.GDB = gdbRegisters(32, "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip")
	return isa
}
