package arm

import (
	"debug/elf"
	"encoding/binary"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// LineFIQ is the line of a CPU beside that of its interrupt controller: a fast interrupt.
const LineFIQ = 0

// What machine descriptions say of a processor.
const (
	numberMIDR    = "midr"    // its main identification register
	numberCluster = "cluster" // what MPIDR says beside the number of the CPU
	numberDivide  = "divide"  // 1 with sdiv and udiv
)

var numbers = []cpus.Number{{Name: numberMIDR, Most: 1<<32 - 1}, {Name: numberCluster, Most: 0xff}, {Name: numberDivide, Most: 1}}

// ISA returns the description of the instruction set. Every call makes a value of its own, which its
// holder may change.
func ISA() *cpus.ISA {
	isa := &cpus.ISA{
		WeakOrder: true,
		Name:      "arm", Bits: 32, Machine: elf.EM_ARM, Order: binary.LittleEndian, CodeLine: 64,
		TimerHz: counterHz,
		Classes: classNames[:], Events: append(engine.Events(), eventNames[:]...), Spared: engine.Spared(), Ports: engine.Ports(),
		Lines:      []string{LineFIQ: "fiq"},
		Processor:  numbers,
		Exceptions: vectorNames[:],
		Tables:     buildTables,
		Disasm:     disasm,
		GDB:        gdbRegisters(),
	}
	isa.New = func(n int, cfg *cpus.Config, bus cpus.Bus) cpus.CPU { return build(isa, n, cfg, bus) }
	return isa
}
