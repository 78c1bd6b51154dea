package engine

import "kprobesim/mmu"

// BufferStores has b take what this CPU stores, until DrainStores or its owner lets others see it. It is for searches, in
// which CPUs execute one at a time. No store goes past it: micro-TLB entries give no right to write.
func (c *Core) BufferStores(b *mmu.StoreBuffer) {
	c.buffer = b
	c.ForgetData()
}

// DrainStores lets all CPUs see what this one has stored.
func (c *Core) DrainStores() {
	if c.buffer != nil {
		c.buffer.DrainAll()
	}
}

// bufferStore takes a store of n bytes. One of a locked instruction does not wait. Those before it have been drained in front
// of its load.
func (c *Core) bufferStore(pa, v, n uint64) {
	c.buffer.Store(pa, v, int(n))
	if c.isLocked() {
		c.DrainStores()
	}
}

// isLocked reports whether the running instruction is locked.
func (c *Core) isLocked() bool { return c.idx != between && c.cur.ops[c.idx].Flags&Locked != 0 }
