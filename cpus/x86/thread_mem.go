package x86

import (
	"encoding/binary"
	"unsafe"

	"kprobesim/cpus/engine"
)

// Memory in threaded code. Whatever Readable and Writable do not know is left to the instruction's own function.

// near is the linear address of an operand that has no index, no segment and no relation to rip.
func (c *CPU) near(in *inst) uint64 {
	return (c.R[in.base&63] + uint64(int64(in.disp))) & c.AddrMask
}

// far is that of any operand.
func (c *CPU) far(q *thread) uint64 {
	c.R[rRIP] = q.Next
	return c.ea(&q.Operands)
}

func at64(p unsafe.Pointer) uint64 { return binary.LittleEndian.Uint64((*[8]byte)(p)[:]) }
func at32(p unsafe.Pointer) uint32 { return binary.LittleEndian.Uint32((*[4]byte)(p)[:]) }
func at16(p unsafe.Pointer) uint16 { return binary.LittleEndian.Uint16((*[2]byte)(p)[:]) }
func at8(p unsafe.Pointer) uint8   { return *(*uint8)(p) }

func put64(p unsafe.Pointer, v uint64) { binary.LittleEndian.PutUint64((*[8]byte)(p)[:], v) }
func put32(p unsafe.Pointer, v uint32) { binary.LittleEndian.PutUint32((*[4]byte)(p)[:], v) }
func put8(p unsafe.Pointer, v uint8)   { *(*uint8)(p) = v }

func threadMovL64(c *CPU, q *thread) *thread {
	p := c.Readable(c.near(&q.Operands), 8)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = at64(p)
	return engine.After(q)
}

func threadMovL64Far(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 8)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = at64(p)
	return engine.After(q)
}

func threadMovL32(c *CPU, q *thread) *thread {
	p := c.Readable(c.near(&q.Operands), 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(at32(p))
	return engine.After(q)
}

func threadMovL32Far(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(at32(p))
	return engine.After(q)
}

func threadZeroL8(c *CPU, q *thread) *thread {
	p := c.Readable(c.near(&q.Operands), 1)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(at8(p))
	return engine.After(q)
}

func threadZeroL8Far(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 1)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(at8(p))
	return engine.After(q)
}

func threadZeroL16(c *CPU, q *thread) *thread {
	p := c.Readable(c.near(&q.Operands), 2)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(at16(p))
	return engine.After(q)
}

func threadZeroL16Far(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 2)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(at16(p))
	return engine.After(q)
}

func threadSignL32(c *CPU, q *thread) *thread {
	p := c.Readable(c.near(&q.Operands), 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(int32(at32(p)))
	return engine.After(q)
}

func threadSignL32Far(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.R[q.Operands.dst&63] = uint64(int32(at32(p)))
	return engine.After(q)
}

func threadMovM64(c *CPU, q *thread) *thread {
	p := c.Writable(c.near(&q.Operands), 8)
	if p == nil {
		return engine.Slow(q)
	}
	put64(p, src[uint64](c, &q.Operands))
	return engine.After(q)
}

func threadMovM64Far(c *CPU, q *thread) *thread {
	p := c.Writable(c.far(q), 8)
	if p == nil {
		return engine.Slow(q)
	}
	put64(p, src[uint64](c, &q.Operands))
	return engine.After(q)
}

func threadMovM32(c *CPU, q *thread) *thread {
	p := c.Writable(c.near(&q.Operands), 4)
	if p == nil {
		return engine.Slow(q)
	}
	put32(p, src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadMovM32Far(c *CPU, q *thread) *thread {
	p := c.Writable(c.far(q), 4)
	if p == nil {
		return engine.Slow(q)
	}
	put32(p, src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadMovM8(c *CPU, q *thread) *thread {
	p := c.Writable(c.near(&q.Operands), 1)
	if p == nil {
		return engine.Slow(q)
	}
	put8(p, src[uint8](c, &q.Operands))
	return engine.After(q)
}

func threadMovM8Far(c *CPU, q *thread) *thread {
	p := c.Writable(c.far(q), 1)
	if p == nil {
		return engine.Slow(q)
	}
	put8(p, src[uint8](c, &q.Operands))
	return engine.After(q)
}

// Arithmetic on operands in memory that are not written.

func threadAddL64(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 8)
	if p == nil {
		return engine.Slow(q)
	}
	a := c.R[q.Operands.dst&63]
	r := a + at64(p)
	c.R[q.Operands.dst&63] = r
	c.sum64(a, r)
	return engine.After(q)
}

func threadCmpL64(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 8)
	if p == nil {
		return engine.Slow(q)
	}
	a := c.R[q.Operands.dst&63]
	c.diff64(a, a-at64(p))
	return engine.After(q)
}

func threadCmpL32(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 4)
	if p == nil {
		return engine.Slow(q)
	}
	a := uint32(c.R[q.Operands.dst&63])
	c.diff32(a, a-at32(p))
	return engine.After(q)
}

func threadCmpM64(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 8)
	if p == nil {
		return engine.Slow(q)
	}
	a := at64(p)
	c.diff64(a, a-src[uint64](c, &q.Operands))
	return engine.After(q)
}

func threadCmpM32(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 4)
	if p == nil {
		return engine.Slow(q)
	}
	a := at32(p)
	c.diff32(a, a-src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadCmpM8(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 1)
	if p == nil {
		return engine.Slow(q)
	}
	a := at8(p)
	c.diff8(a, a-src[uint8](c, &q.Operands))
	return engine.After(q)
}

func threadTestM32(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.logic32(0, at32(p)&src[uint32](c, &q.Operands))
	return engine.After(q)
}

func threadTestM8(c *CPU, q *thread) *thread {
	p := c.Readable(c.far(q), 1)
	if p == nil {
		return engine.Slow(q)
	}
	c.logic8(0, at8(p)&src[uint8](c, &q.Operands))
	return engine.After(q)
}

// The stack.

func threadPush64(c *CPU, q *thread) *thread {
	sp := (c.R[rsp] - 8) & c.AddrMask
	p := c.Writable(sp, 8)
	if p == nil {
		return engine.Slow(q)
	}
	put64(p, src[uint64](c, &q.Operands))
	c.R[rsp] = sp
	return engine.After(q)
}

func threadPop64(c *CPU, q *thread) *thread {
	p := c.Readable(c.R[rsp], 8)
	if p == nil {
		return engine.Slow(q)
	}
	c.drop(8)
	c.R[q.Operands.dst&63] = at64(p)
	return engine.After(q)
}

func threadPush32(c *CPU, q *thread) *thread {
	sp := (c.R[rsp] - 4) & c.AddrMask
	p := c.Writable(sp, 4)
	if p == nil {
		return engine.Slow(q)
	}
	put32(p, src[uint32](c, &q.Operands))
	c.R[rsp] = sp
	return engine.After(q)
}

func threadPop32(c *CPU, q *thread) *thread {
	p := c.Readable(c.R[rsp], 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.drop(4)
	c.R[q.Operands.dst&63] = uint64(at32(p))
	return engine.After(q)
}
