package cpus

import "kprobesim/internal/clock"

// Exception contexts in which time is counted.
const (
	NoException = iota // ordinary code
	Breakpoint         // between the delivery of a breakpoint exception and its return
	SingleStep         // between the delivery of a single-step exception and its return
	OtherException
	Interrupted
	Contexts
)

// Bounds of what Bus.Phase gives and of ISA.Exceptions.
const (
	MaxPhases     = 16
	MaxExceptions = 256
)

// Counters are event counts of one CPU since it was made. Differences of two copies describe a region.
type Counters struct {
	Instructions uint64
	// Time and Count are retirement time and instructions by exception context and phase.
	Time  [Contexts][MaxPhases]clock.Ticks
	Count [Contexts][MaxPhases]uint64

	Exceptions    [MaxExceptions]uint64 // by index in ISA.Exceptions
	Branches      uint64
	Mispredicts   uint64
	L1IMisses     uint64
	L1DMisses     uint64
	L2Misses      uint64
	ITLBMisses    uint64
	DTLBMisses    uint64
	ContextSyncs  uint64 // instructions behind which nothing is executed that was fetched before
	Transfers     uint64 // lines that came from another CPU's cache
	Upgrades      uint64 // stores that took the copies of a line from other CPUs
	Unhandled     uint64 // interrupts that could not be delivered because nothing handles them
	LastUnhandled uint16 // the last of them, an index in ISA.Exceptions
	Unmodelled    uint64 // instructions that raised undefined-instruction because no model exists
	LastUnknown   string // the last of them
}

// Sub returns c - o.
func (c Counters) Sub(o *Counters) Counters {
	c.Instructions -= o.Instructions
	for i := range c.Time {
		for j := range c.Time[i] {
			c.Time[i][j] -= o.Time[i][j]
			c.Count[i][j] -= o.Count[i][j]
		}
	}
	for i := range c.Exceptions {
		c.Exceptions[i] -= o.Exceptions[i]
	}
	for _, p := range [][2]*uint64{
		{&c.Branches, &o.Branches},
		{&c.Mispredicts, &o.Mispredicts},
		{&c.L1IMisses, &o.L1IMisses},
		{&c.L1DMisses, &o.L1DMisses},
		{&c.L2Misses, &o.L2Misses},
		{&c.ITLBMisses, &o.ITLBMisses},
		{&c.DTLBMisses, &o.DTLBMisses},
		{&c.ContextSyncs, &o.ContextSyncs},
		{&c.Transfers, &o.Transfers},
		{&c.Upgrades, &o.Upgrades},
		{&c.Unhandled, &o.Unhandled},
		{&c.Unmodelled, &o.Unmodelled},
	} {
		*p[0] -= *p[1]
	}
	return c
}

// Total is the retirement time over all contexts and phases.
func (c *Counters) Total() clock.Ticks {
	var t clock.Ticks
	for i := range c.Time {
		for _, v := range c.Time[i] {
			t += v
		}
	}
	return t
}
