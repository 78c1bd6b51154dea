package cpus

import (
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// StoreBufferer is a CPU whose stores may wait for being seen by others.
type StoreBufferer interface {
	// BufferStores has b take all stores from now on. Who owns b shows its stores when the CPU goes on.
	BufferStores(b *mmu.StoreBuffer)
}

// TimerOwner is implemented by a CPU whose timer is its own and does not go on by itself: the kernel sets it anew for
// each of its interrupts, and may do so late.
type TimerOwner interface {
	// TimerDue is when the timer's condition came about for the interrupt that was taken last.
	TimerDue() clock.Ticks
}

// Signals reach a CPU beside the line of its interrupt controller.
type Signals interface {
	// Signal latches an edge on one of the ISA's lines, by its index in ISA.Lines.
	Signal(line int)
	// Reset puts the CPU into the state after reset, in which it waits to be booted again. Caches and
	// counters go on; the time that it waits is in no counter.
	Reset()
}
