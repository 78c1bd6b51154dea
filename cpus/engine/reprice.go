package engine

// Reprice prices the running instruction, which has a usual class, as one of another class: what it takes depends on its
// operands, as a model-specific register or the level that a return leads to. The instruction ends its block. It reprices
// each time that it completes, after everything else that it does.
func (c *Core) Reprice(usual, class uint8) {
	if c.idx == between {
		return
	}
	if c.cost[class] == c.cost[usual] {
		class = usual
	}
	op := &c.cur.ops[c.idx]
	if op.Class = class; class == usual || c.untimed.on {
		return
	}
	c.repriced = class
	c.irregular |= irregularPart // what is known of the block beforehand is of the usual class
}
