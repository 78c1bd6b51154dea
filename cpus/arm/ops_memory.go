package arm

import (
	"kprobesim/cpus/engine"
	"kprobesim/mmu"
)

// Loads and stores of one or two registers (ARM ARM, A5.3, A5.2.8). What faults has no effect.

// ea is the address of an operand that lies at an offset. Absent parts are registers that hold zero.
func (c *CPU) ea(in *inst) uint64 {
	return uint64(uint32(c.R[in.a&63]) + uint32(c.R[in.b&63]) + in.imm)
}

// aligned raises an alignment fault for an address that is not a multiple, whatever SCTLR.A says.
func (c *CPU) aligned(va, size uint64, write bool) bool {
	if va&(size-1) == 0 {
		return true
	}
	c.dataAbort(va, fsrAlignment, 0, write)
	return false
}

// Widths of memory operands, as functions.
type (
	loader = func(*CPU, uint64) (uint64, bool)
	storer = func(c *CPU, va, v uint64) bool
)

func load8(c *CPU, va uint64) (uint64, bool) {
	v, ok := engine.Load[uint8](&c.Core, va)
	return uint64(v), ok
}

func load16(c *CPU, va uint64) (uint64, bool) {
	if va&1&c.strict != 0 {
		return 0, c.aligned(va, 2, false)
	}
	v, ok := engine.Load[uint16](&c.Core, va)
	return uint64(v), ok
}

func load32(c *CPU, va uint64) (uint64, bool) {
	if va&3&c.strict != 0 {
		return 0, c.aligned(va, 4, false)
	}
	v, ok := engine.Load[uint32](&c.Core, va)
	return uint64(v), ok
}

func loadS8(c *CPU, va uint64) (uint64, bool) {
	v, ok := load8(c, va)
	return uint64(uint32(int8(v))), ok
}

func loadS16(c *CPU, va uint64) (uint64, bool) {
	v, ok := load16(c, va)
	return uint64(uint32(int16(v))), ok
}

func store8(c *CPU, va, v uint64) bool { return engine.Store(&c.Core, va, uint8(v)) }

func store16(c *CPU, va, v uint64) bool {
	if va&1&c.strict != 0 {
		return c.aligned(va, 2, true)
	}
	return engine.Store(&c.Core, va, uint16(v))
}

func store32(c *CPU, va, v uint64) bool {
	if va&3&c.strict != 0 {
		return c.aligned(va, 4, true)
	}
	return engine.Store(&c.Core, va, uint32(v))
}

// Addressing (ARM ARM, A8.5): by an offset, by one that is written back, by the base alone, to which the
// offset is added behind the access.
const (
	atOffset = iota
	preIndexed
	postIndexed
)

func loading(load loader, mode int) exec {
	switch mode {
	case preIndexed:
		return func(c *CPU, in *inst) {
			at := c.ea(in)
			if v, ok := load(c, at); ok {
				c.R[in.a&63] = at
				c.R[in.dst&63] = v
			}
		}
	case postIndexed:
		return func(c *CPU, in *inst) {
			next := c.ea(in)
			if v, ok := load(c, c.R[in.a&63]); ok {
				c.R[in.a&63] = next
				c.R[in.dst&63] = v
			}
		}
	}
	return func(c *CPU, in *inst) {
		if v, ok := load(c, c.ea(in)); ok {
			c.R[in.dst&63] = v
		}
	}
}

func storing(store storer, mode int) exec {
	switch mode {
	case preIndexed:
		return func(c *CPU, in *inst) {
			if at := c.ea(in); store(c, at, c.R[in.s&63]) {
				c.R[in.a&63] = at
			}
		}
	case postIndexed:
		return func(c *CPU, in *inst) {
			next := c.ea(in)
			if store(c, c.R[in.a&63], c.R[in.s&63]) {
				c.R[in.a&63] = next
			}
		}
	}
	return func(c *CPU, in *inst) { store(c, c.ea(in), c.R[in.s&63]) }
}

// toPC sends what a load brings to the program counter. A return is one from the stack.
func toPC(f exec, fromStack bool) exec {
	return func(c *CPU, in *inst) {
		c.R[rTarget] = unloaded
		f(c, in)
		switch to := c.R[rTarget]; {
		case to == unloaded:
		case fromStack:
			c.returnTo(to)
		default:
			c.branchTo(to)
		}
	}
}

// unloaded is no address: the load has faulted.
const unloaded = ^uint64(0)

// asUser makes the access of an unprivileged load or store (ARM ARM, A4.6.4): its page must allow it to
// user mode.
func asUser(f exec, size uint64, write bool) exec {
	return func(c *CPU, in *inst) {
		at := c.R[in.a&63]
		if c.User || c.userAllowed(at, write) && c.userAllowed((at+size-1)&c.AddrMask, write) {
			f(c, in)
		}
	}
}

// Two registers: an even one and its neighbour. Addresses are on a boundary of four.
func loadPair(c *CPU, in *inst, at uint64) bool {
	if !c.aligned(at, 4, false) {
		return false
	}
	var v [2]uint32
	if !c.LoadWords(at, v[:]) {
		return false
	}
	c.R[in.dst&63], c.R[(in.dst+1)&63] = uint64(v[0]), uint64(v[1])
	return true
}

func storePair(c *CPU, in *inst, at uint64) bool {
	if !c.aligned(at, 4, true) {
		return false
	}
	return c.StoreWords(at, []uint32{uint32(c.R[in.s&63]), uint32(c.R[(in.s+1)&63])})
}

func pairing(access func(*CPU, *inst, uint64) bool, mode int) exec {
	return func(c *CPU, in *inst) {
		at := c.ea(in)
		next := at
		if mode == postIndexed {
			at = c.R[in.a&63]
		}
		base := c.R[in.a&63]
		if mode != atOffset {
			c.R[in.a&63] = next
		}
		if !access(c, in, at) {
			c.R[in.a&63] = base
		}
	}
}

// exclusiveLoad is ldrex of a width; aux is the size. That of a doubleword fills two registers.
func exclusiveLoad(c *CPU, in *inst) {
	at, size := c.R[in.a&63], in.aux
	if !c.aligned(at, uint64(size), false) || !c.LoadNewest(at, uint64(size)) {
		return
	}
	var v uint64
	var ok bool
	switch size {
	case 1:
		v, ok = load8(c, at)
	case 2:
		v, ok = load16(c, at)
	case 4:
		v, ok = load32(c, at)
	default:
		if v, ok = engine.Load[uint64](&c.Core, at); ok {
			c.R[(in.dst+1)&63] = v >> 32
		}
	}
	if ok {
		c.R[in.dst&63] = uint64(uint32(v))
		c.Reserve(at, size)
	}
}

// exclusiveStore is strex: its result is 1 when nothing was stored.
func exclusiveStore(c *CPU, in *inst) {
	at, size := c.R[in.a&63], in.aux
	if !c.aligned(at, uint64(size), true) {
		return
	}
	held, ok := c.Reserved(at, size)
	if !ok {
		return
	}
	if !held {
		c.R[in.dst&63] = 1
		return
	}
	v := c.R[in.s&63]
	switch size {
	case 1:
		store8(c, at, v)
	case 2:
		store16(c, at, v)
	case 4:
		store32(c, at, v)
	default:
		engine.Store(&c.Core, at, c.R[(in.s+1)&63]<<32|v)
	}
	c.StoredConditionally()
	c.R[in.dst&63] = 0
}

// BufferStores implements cpus.StoreBufferer.
func (c *CPU) BufferStores(b *mmu.StoreBuffer) { c.BufferWeakly(b) }

func clrex(c *CPU, _ *inst) { c.DropReservation() }

// swap and swapByte exchange a register with memory, if SCTLR.SW allows them (ARM ARM, A8.8.229).
func swap(c *CPU, in *inst) {
	at := c.R[in.a&63]
	if !c.swaps() || !c.aligned(at, 4, true) || !c.LoadNewest(at, 4) {
		return
	}
	v, ok := engine.LoadForStore[uint32](&c.Core, at)
	if ok && store32(c, at, c.R[in.s&63]) {
		c.R[in.dst&63] = uint64(v)
		c.StoredConditionally()
	}
}

func swapByte(c *CPU, in *inst) {
	at := c.R[in.a&63]
	if !c.swaps() || !c.LoadNewest(at, 1) {
		return
	}
	v, ok := engine.LoadForStore[uint8](&c.Core, at)
	if ok && store8(c, at, c.R[in.s&63]) {
		c.R[in.dst&63] = uint64(v)
		c.StoredConditionally()
	}
}

func (c *CPU) swaps() bool {
	if c.sctlr&sctlrSW == 0 {
		c.raise(vecUndefined)
		return false
	}
	return true
}
