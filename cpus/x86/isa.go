package x86

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
)

// ISA64 returns the description of 64-bit mode.
func ISA64() *cpus.ISA {
	return &cpus.ISA{
		Name: "x86_64", Bits: 64, Machine: elf.EM_X86_64, Order: binary.LittleEndian,
		Classes: classNames[:], Events: eventNames[:],
		Phases:     []string{"kernel", "workload", "entry", "dispatch", "handler", "step", "return", "kretprobe", "detour"},
		Breakpoint: []byte{0xcc}, MaxInsn: maxInsn,
		New: New64, Disasm: disasm(64),
	}
}

func disasm(mode int) func([]byte, uint64, func(uint64) (string, uint64)) (string, int) {
	return func(code []byte, pc uint64, name func(uint64) (string, uint64)) (string, int) {
		x, ok := disassemble(code, mode)
		if !ok {
			return "(bad)", 1
		}
		return x86asm.GNUSyntax(x, pc, name), x.Len
	}
}
