package x86

import "kprobesim/cpus/engine"

// Registers and flags in threaded code. The source is a register or an immediate, as everywhere (src).

func threadPure(c *CPU, q *thread) *thread {
	c.Unthread()
	q.General(c, &q.Operands)
	return engine.After(q)
}

func threadKeep(c *CPU, q *thread) *thread {
	q.General(c, &q.Operands)
	return engine.After(q)
}

func threadMovR64(c *CPU, q *thread) *thread {
	c.R[q.Operands.dst&63] = src[uint64](c, &q.Operands)
	return engine.After(q)
}

func threadMovR32(c *CPU, q *thread) *thread {
	c.R[q.Operands.dst&63] = uint64(src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadLea64(c *CPU, q *thread) *thread {
	in := &q.Operands
	c.R[rRIP] = q.Next
	c.R[in.dst&63] = c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp))
	return engine.After(q)
}

func threadLea32(c *CPU, q *thread) *thread {
	in := &q.Operands
	c.R[rRIP] = q.Next
	c.R[in.dst&63] = uint64(uint32(c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp))))
	return engine.After(q)
}

// sum, diff and logic keep what the flags follow from.

func (c *CPU) sum64(a, r uint64)   { c.old, c.res, c.lazy = a, r, lazySum64 }
func (c *CPU) diff64(a, r uint64)  { c.old, c.res, c.lazy = a, r, lazyDiff64 }
func (c *CPU) logic64(_, r uint64) { c.res, c.lazy = r, lazyLogic64 }

func (c *CPU) sum32(a, r uint32)   { c.old, c.res, c.lazy = uint64(a), uint64(r), lazySum32 }
func (c *CPU) diff32(a, r uint32)  { c.old, c.res, c.lazy = uint64(a), uint64(r), lazyDiff32 }
func (c *CPU) logic32(_, r uint32) { c.res, c.lazy = uint64(r), lazyLogic32 }

func (c *CPU) diff8(a, r uint8)  { c.old, c.res, c.lazy = uint64(a), uint64(r), lazyDiff8 }
func (c *CPU) logic8(_, r uint8) { c.res, c.lazy = uint64(r), lazyLogic8 }

func threadAddR64(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint64](c, in.dst)
	r := a + src[uint64](c, in)
	put(c, in.dst, r)
	c.sum64(a, r)
	return engine.After(q)
}

func threadAddR32(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint32](c, in.dst)
	r := a + src[uint32](c, in)
	put(c, in.dst, r)
	c.sum32(a, r)
	return engine.After(q)
}

func threadSubR64(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint64](c, in.dst)
	r := a - src[uint64](c, in)
	put(c, in.dst, r)
	c.diff64(a, r)
	return engine.After(q)
}

func threadSubR32(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint32](c, in.dst)
	r := a - src[uint32](c, in)
	put(c, in.dst, r)
	c.diff32(a, r)
	return engine.After(q)
}

func threadAndR64(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint64](c, in.dst)
	r := a & src[uint64](c, in)
	put(c, in.dst, r)
	c.logic64(a, r)
	return engine.After(q)
}

func threadAndR32(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint32](c, in.dst)
	r := a & src[uint32](c, in)
	put(c, in.dst, r)
	c.logic32(a, r)
	return engine.After(q)
}

func threadOrR64(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint64](c, in.dst)
	r := a | src[uint64](c, in)
	put(c, in.dst, r)
	c.logic64(a, r)
	return engine.After(q)
}

func threadOrR32(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint32](c, in.dst)
	r := a | src[uint32](c, in)
	put(c, in.dst, r)
	c.logic32(a, r)
	return engine.After(q)
}

func threadXorR64(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint64](c, in.dst)
	r := a ^ src[uint64](c, in)
	put(c, in.dst, r)
	c.logic64(a, r)
	return engine.After(q)
}

func threadXorR32(c *CPU, q *thread) *thread {
	in := &q.Operands
	a := get[uint32](c, in.dst)
	r := a ^ src[uint32](c, in)
	put(c, in.dst, r)
	c.logic32(a, r)
	return engine.After(q)
}

func threadCmpR64(c *CPU, q *thread) *thread {
	a := get[uint64](c, q.Operands.dst)
	c.diff64(a, a-src[uint64](c, &q.Operands))
	return engine.After(q)
}

func threadCmpR32(c *CPU, q *thread) *thread {
	a := get[uint32](c, q.Operands.dst)
	c.diff32(a, a-src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadCmpR8(c *CPU, q *thread) *thread {
	a := get[uint8](c, q.Operands.dst)
	c.diff8(a, a-src[uint8](c, &q.Operands))
	return engine.After(q)
}

func threadTestR64(c *CPU, q *thread) *thread {
	a := get[uint64](c, q.Operands.dst)
	c.logic64(a, a&src[uint64](c, &q.Operands))
	return engine.After(q)
}

func threadTestR32(c *CPU, q *thread) *thread {
	a := get[uint32](c, q.Operands.dst)
	c.logic32(a, a&src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadTestR8(c *CPU, q *thread) *thread {
	a := get[uint8](c, q.Operands.dst)
	c.logic8(a, a&src[uint8](c, &q.Operands))
	return engine.After(q)
}
