package engine

import (
	"math/bits"

	"kprobesim/mmu"
)

// views has dependencies of a CPU of weak memory order, as numbers of stores in the order of mmu.Past: the value in each
// register, and where execution went. A load whose address depends on an older one finds no older store than that one has found. They
// are followed while there are stores that the CPU does not see, as no others may be missed.
type views struct {
	of      [Registers]uint64
	control uint64
	loaded  uint64 // by the running instruction
}

// BufferWeakly is BufferStores where loads and stores may be made out of order. A store of another CPU that leaves its buffer takes a
// reservation of its line away.
func (c *Core) BufferWeakly(b *mmu.StoreBuffer) { c.bufferWeakly(b, c.loseReservation) }

// bufferWeakly is BufferWeakly, with what is told of the stores of others.
func (c *Core) bufferWeakly(b *mmu.StoreBuffer, lost func(pa uint64, n int)) {
	c.BufferStores(b)
	c.views = new(views)
	b.Tell(c.ForgetData, lost)
}

// tracks reports whether the CPU's loads may miss a store.
func (c *Core) tracks() bool { return c.views != nil && c.buffer.Unseen() }

// depend comes before an instruction, and followed behind it.
func (c *Core) depend(op *Op) {
	v := &c.views.of
	c.views.loaded = 0
	c.buffer.Depend(max(v[op.S1&regMask], v[op.S2&regMask], v[op.S3&regMask], v[op.Base&regMask], v[op.Index&regMask]))
}

// followed notes what the results depend on. An instruction that loads has one view for all of them, the address that it
// writes back included.
func (c *Core) followed(op *Op) {
	v, on := c.views, max(c.buffer.Depends(), c.views.loaded)
	v.of[op.O1&regMask], v.of[op.O2&regMask] = on, on
	for also := op.Also; also != 0; also &= also - 1 {
		v.of[bits.TrailingZeros64(also)&regMask] = on
	}
	v.of[PC] = 0 // and nothing reads an absent result
	if op.Flags&Ends != 0 {
		v.control = max(v.control, on)
	}
	c.buffer.Depend(0)
}

// bufferLoad is told of a load of n bytes of RAM before it is made.
func (c *Core) bufferLoad(pa uint64, n int) {
	if c.views == nil {
		return
	}
	if c.buffer.Touch(pa); c.buffer.Unseen() {
		c.views.loaded = max(c.views.loaded, c.buffer.Load(pa, n))
	}
}

// drainOrdered is for an access to a device, before which stores are seen where all accesses are in order.
func (c *Core) drainOrdered() {
	if c.views == nil {
		c.DrainStores()
	}
}

// OrderStores is a barrier between the stores before and those behind it.
func (c *Core) OrderStores() {
	if c.views != nil {
		c.buffer.Order()
	}
}

// OrderLoads is a barrier between the loads before and those behind it.
func (c *Core) OrderLoads() {
	if c.views != nil {
		c.buffer.SeeAll()
	}
}

// OrderAll is a barrier between all accesses: stores before it are seen by all CPUs.
func (c *Core) OrderAll() {
	c.DrainStores()
	c.OrderLoads()
}

// OrderByControl has loads from here on be made behind those that decided where execution went.
func (c *Core) OrderByControl() {
	if c.views != nil {
		c.buffer.SeeUpTo(c.views.control)
	}
}

// LoadNewest is told of an operand that is loaded and reserved. A conditional store replaces the value that the load has found, so
// that is the newest. It returns false with the exception pending where the address has no translation.
func (c *Core) LoadNewest(va, n uint64) bool {
	if c.views == nil {
		return true
	}
	pa, ok := c.translator.DataAddress(va, false)
	if ok {
		c.buffer.Newest(pa, int(n))
	}
	return ok
}

// StoredConditionally is told behind a conditional store that was made. It is the newest one at once.
func (c *Core) StoredConditionally() {
	if c.views != nil {
		c.buffer.DrainLast()
	}
}
