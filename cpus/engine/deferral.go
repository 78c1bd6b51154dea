package engine

// deferral returns how much longer an instruction takes for the constants that its operands hold, and notes which registers
// hold one behind it. The operations that add a constant first take their pipe from the time on at which the operands are ready. An
// address is added up with its constant in any case.
func (c *Core) deferral(op *Op, u *pipePrice, ready ticks) (late ticks) {
	p := c.pipes
	if p.constants&op.sources() != 0 {
		late = u.deferred
		for range u.adds {
			p.take(u.to[0], ready, p.atStart)
		}
	}
	holds := u.defers || u.copies && op.Flags&(Loads|Clears) == 0 && p.constants>>(op.S1&regMask)&1 != 0
	c.settleConstants(op)
	if holds && op.O1 != c.sink {
		p.constants |= 1 << (op.O1 & regMask) &^ p.flags
	}
	return late
}

// settleConstants notes that the results of an instruction hold no constant.
func (c *Core) settleConstants(op *Op) {
	c.pipes.constants &^= op.results()
}
