package ppc64

import (
	"debug/elf"
	"encoding/binary"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
)

// Lines of a CPU beside that of external interrupts.
const (
	LineReset       = iota // system reset interrupt
	LineDecrementer        // the decrementer has expired: the board tells the time, see Decrementer
	LineExpire             // the decrementer is to interrupt now, though it has not counted down: for searches
)

// ISA returns the description of the instruction set. Every call makes a value of its own, which its
// holder may change.
func ISA() *cpus.ISA {
	isa := &cpus.ISA{
		Name: "ppc64", Bits: 64, Machine: elf.EM_PPC64, Order: binary.BigEndian,
		Classes: classNames[:], Events: append(engine.Events(), eventNames[:]...), Spared: engine.Spared(), Ports: engine.Ports(),
		WeakOrder:   true,
		CodeLine:    128,  // of POWER4 to POWER9,
		LockSyncs:   true, // isync behind the reservation, as the lock of asm/spinlock.h has it
		TimerCycles: int64(tick / clock.PerCycle),
		Lines:       []string{LineReset: "system_reset", LineDecrementer: "decrementer", LineExpire: "expire"},
		Exceptions:  exceptionNames(),
		Tables:      buildTables,
		Disasm:      disasm,
		GDB:         gdbRegisters(),
	}
	isa.New = func(n int, cfg *cpus.Config, bus cpus.Bus) cpus.CPU { return build(isa, n, cfg, bus) }
	return isa
}
