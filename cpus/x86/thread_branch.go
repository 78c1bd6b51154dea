package x86

import "kprobesim/cpus/engine"

// Ends of blocks in threaded code.

func threadSlow(_ *CPU, q *thread) *thread   { return engine.Slow(q) }
func threadBehind(c *CPU, q *thread) *thread { return c.Behind(q) }
func threadLeave(c *CPU, q *thread) *thread  { return c.Leave(q) }
func threadJmp(c *CPU, q *thread) *thread    { return c.Taken(q) }

// threadTo follows a branch that was executed generally.
func threadTo(c *CPU, q *thread) *thread { return c.To(q, c.R[rRIP]) }

func threadJcc(c *CPU, q *thread) *thread {
	c.Unthread()
	return c.Branch(q, c.condition(q.Operands.aux))
}

// je and jne look at the result alone.
func threadJe(c *CPU, q *thread) *thread  { return c.Branch(q, c.res == 0) }
func threadJne(c *CPU, q *thread) *thread { return c.Branch(q, c.res != 0) }

func threadCall64(c *CPU, q *thread) *thread {
	sp := (c.R[rsp] - 8) & c.AddrMask
	p := c.Writable(sp, 8)
	if p == nil {
		return engine.Slow(q)
	}
	put64(p, q.Next)
	c.R[rsp] = sp
	return c.Taken(q)
}

func threadRet64(c *CPU, q *thread) *thread {
	p := c.Readable(c.R[rsp], 8)
	if p == nil {
		return engine.Slow(q)
	}
	c.drop(8 + q.Operands.imm)
	return c.To(q, at64(p))
}

func threadCall32(c *CPU, q *thread) *thread {
	sp := (c.R[rsp] - 4) & c.AddrMask
	p := c.Writable(sp, 4)
	if p == nil {
		return engine.Slow(q)
	}
	put32(p, uint32(q.Next))
	c.R[rsp] = sp
	return c.Taken(q)
}

func threadRet32(c *CPU, q *thread) *thread {
	p := c.Readable(c.R[rsp], 4)
	if p == nil {
		return engine.Slow(q)
	}
	c.drop(4 + q.Operands.imm)
	return c.To(q, uint64(at32(p)))
}

// A comparison and the branch behind it are one function, with the condition from the operands. What the flags
// follow from is kept all the same. The branch leads from the block by the same ways as its comparison.

func threadCmp64Je(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, a == b)
}

func threadCmp64Jne(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, a != b)
}

func threadCmp64Jb(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, a < b)
}

func threadCmp64Jae(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, a >= b)
}

func threadCmp64Jbe(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, a <= b)
}

func threadCmp64Ja(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, a > b)
}

func threadCmp64Jl(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, int64(a) < int64(b))
}

func threadCmp64Jge(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, int64(a) >= int64(b))
}

func threadCmp64Jle(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, int64(a) <= int64(b))
}

func threadCmp64Jg(c *CPU, q *thread) *thread {
	a, b := get[uint64](c, q.Operands.dst), src[uint64](c, &q.Operands)
	c.diff64(a, a-b)
	return c.Branch(q, int64(a) > int64(b))
}

func threadTest64Je(c *CPU, q *thread) *thread {
	r := get[uint64](c, q.Operands.dst) & src[uint64](c, &q.Operands)
	c.logic64(0, r)
	return c.Branch(q, r == 0)
}

func threadTest64Jne(c *CPU, q *thread) *thread {
	r := get[uint64](c, q.Operands.dst) & src[uint64](c, &q.Operands)
	c.logic64(0, r)
	return c.Branch(q, r != 0)
}

func threadTest64Js(c *CPU, q *thread) *thread {
	r := get[uint64](c, q.Operands.dst) & src[uint64](c, &q.Operands)
	c.logic64(0, r)
	return c.Branch(q, int64(r) < 0)
}

func threadTest64Jns(c *CPU, q *thread) *thread {
	r := get[uint64](c, q.Operands.dst) & src[uint64](c, &q.Operands)
	c.logic64(0, r)
	return c.Branch(q, int64(r) >= 0)
}

func threadTest64Jle(c *CPU, q *thread) *thread {
	r := get[uint64](c, q.Operands.dst) & src[uint64](c, &q.Operands)
	c.logic64(0, r)
	return c.Branch(q, int64(r) <= 0)
}

func threadTest64Jg(c *CPU, q *thread) *thread {
	r := get[uint64](c, q.Operands.dst) & src[uint64](c, &q.Operands)
	c.logic64(0, r)
	return c.Branch(q, int64(r) > 0)
}

func threadCmp32Je(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, a == b)
}

func threadCmp32Jne(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, a != b)
}

func threadCmp32Jb(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, a < b)
}

func threadCmp32Jae(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, a >= b)
}

func threadCmp32Jbe(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, a <= b)
}

func threadCmp32Ja(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, a > b)
}

func threadCmp32Jl(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, int32(a) < int32(b))
}

func threadCmp32Jge(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, int32(a) >= int32(b))
}

func threadCmp32Jle(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, int32(a) <= int32(b))
}

func threadCmp32Jg(c *CPU, q *thread) *thread {
	a, b := get[uint32](c, q.Operands.dst), src[uint32](c, &q.Operands)
	c.diff32(a, a-b)
	return c.Branch(q, int32(a) > int32(b))
}

func threadTest32Je(c *CPU, q *thread) *thread {
	r := get[uint32](c, q.Operands.dst) & src[uint32](c, &q.Operands)
	c.logic32(0, r)
	return c.Branch(q, r == 0)
}

func threadTest32Jne(c *CPU, q *thread) *thread {
	r := get[uint32](c, q.Operands.dst) & src[uint32](c, &q.Operands)
	c.logic32(0, r)
	return c.Branch(q, r != 0)
}

func threadTest32Js(c *CPU, q *thread) *thread {
	r := get[uint32](c, q.Operands.dst) & src[uint32](c, &q.Operands)
	c.logic32(0, r)
	return c.Branch(q, int32(r) < 0)
}

func threadTest32Jns(c *CPU, q *thread) *thread {
	r := get[uint32](c, q.Operands.dst) & src[uint32](c, &q.Operands)
	c.logic32(0, r)
	return c.Branch(q, int32(r) >= 0)
}

func threadTest32Jle(c *CPU, q *thread) *thread {
	r := get[uint32](c, q.Operands.dst) & src[uint32](c, &q.Operands)
	c.logic32(0, r)
	return c.Branch(q, int32(r) <= 0)
}

func threadTest32Jg(c *CPU, q *thread) *thread {
	r := get[uint32](c, q.Operands.dst) & src[uint32](c, &q.Operands)
	c.logic32(0, r)
	return c.Branch(q, int32(r) > 0)
}

func threadCmp8Je(c *CPU, q *thread) *thread {
	a, b := get[uint8](c, q.Operands.dst), src[uint8](c, &q.Operands)
	c.diff8(a, a-b)
	return c.Branch(q, a == b)
}

func threadCmp8Jne(c *CPU, q *thread) *thread {
	a, b := get[uint8](c, q.Operands.dst), src[uint8](c, &q.Operands)
	c.diff8(a, a-b)
	return c.Branch(q, a != b)
}

func threadCmp8Jbe(c *CPU, q *thread) *thread {
	a, b := get[uint8](c, q.Operands.dst), src[uint8](c, &q.Operands)
	c.diff8(a, a-b)
	return c.Branch(q, a <= b)
}

func threadCmp8Ja(c *CPU, q *thread) *thread {
	a, b := get[uint8](c, q.Operands.dst), src[uint8](c, &q.Operands)
	c.diff8(a, a-b)
	return c.Branch(q, a > b)
}

func threadTest8Je(c *CPU, q *thread) *thread {
	r := get[uint8](c, q.Operands.dst) & src[uint8](c, &q.Operands)
	c.logic8(0, r)
	return c.Branch(q, r == 0)
}

func threadTest8Jne(c *CPU, q *thread) *thread {
	r := get[uint8](c, q.Operands.dst) & src[uint8](c, &q.Operands)
	c.logic8(0, r)
	return c.Branch(q, r != 0)
}

func threadTest8Js(c *CPU, q *thread) *thread {
	r := get[uint8](c, q.Operands.dst) & src[uint8](c, &q.Operands)
	c.logic8(0, r)
	return c.Branch(q, int8(r) < 0)
}

func threadTest8Jns(c *CPU, q *thread) *thread {
	r := get[uint8](c, q.Operands.dst) & src[uint8](c, &q.Operands)
	c.logic8(0, r)
	return c.Branch(q, int8(r) >= 0)
}
