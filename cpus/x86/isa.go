package x86

import (
	"debug/elf"
	"encoding/binary"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// The address space of a kernel of 2010: all memory at the direct map, the image at the top, and the
// local APIC's registers in a page of their own.
const (
	directMap = 0xffff880000000000
	kernelMap = 0xffffffff80000000
	apicVA    = 0xffffffffff5fd000
	apicPA    = 0xfee00000
)

// LineNMI latches a non-maskable interrupt, which is taken when no earlier one is being handled.
const LineNMI = 0

// ISA64 returns the description of 64-bit mode.
func ISA64() *cpus.ISA {
	return &cpus.ISA{
		Name: "x86_64", Bits: 64, Machine: elf.EM_X86_64, Order: binary.LittleEndian,
		Classes: classNames[:], Events: eventNames[:], Ports: portNames[1:], CacheLine: lineBytes,
		Phases:     []string{"kernel", "workload", "entry", "dispatch", "handler", "step", "return", "kretprobe", "detour", "irq", "idle", "stop", "user"},
		Lines:      []string{LineNMI: "nmi"},
		Exceptions: exceptionNames(),
		Maps: []mmu.Mapping{
			{VA: directMap, Large: true, Writable: true},
			{VA: kernelMap, Large: true, Writable: true, Exec: true, Limit: 512 << 20},
			{VA: apicVA, PA: apicPA, Size: 0x1000, Writable: true, Uncached: true},
		},
		Tables: mmu.Long().Build, Heap: directMap,
		New: New64, Disasm: disasm(64),
	}
}

// lowMap and apicVA32 are where an i386 kernel has its memory and the local APIC's registers.
const (
	lowMap   = 0xc0000000
	apicVA32 = 0xffffb000
)

// ISA32 returns the description of 32-bit protected mode. What does not belong to the mode is that of
// 64-bit mode: a machine description serves both.
func ISA32() *cpus.ISA {
	isa := ISA64()
	isa.Name, isa.Bits, isa.Machine = "i386", 32, elf.EM_386
	isa.Maps = []mmu.Mapping{
		{VA: lowMap, Large: true, Writable: true, Exec: true, Limit: 512 << 20},
		{VA: apicVA32, PA: apicPA, Size: 0x1000, Writable: true, Uncached: true},
	}
	isa.Tables, isa.Heap = mmu.Legacy(true).Build, lowMap
	isa.New, isa.Disasm = New32, disasm(32)
	return isa
}
