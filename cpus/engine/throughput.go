package engine

// settleThroughput is settle in the throughput model: an instruction takes its issue bandwidth, a load
// what it makes its successors wait, and misses all they cost.
func (c *Core) settleThroughput(n int) {
	c.settleEach(n)
	if c.redirect || c.taken {
		c.settleBranch(c.retire)
		c.retire, c.entering = c.dispatch, false // nothing hides behind a branch here
	}
}

// settleEach goes through the instructions one by one.
func (c *Core) settleEach(n int) {
	ops := c.cur.ops
	at := max(c.dispatch, c.retire)
	for i := c.settled; i < n; i++ {
		op := &ops[i]
		k := &c.cost[op.Class]
		a := &c.acc[i&(accesses-1)]
		if k.inOrder {
			c.dispatch, c.retire = at, at
			c.settleInOrder(op, k, a)
			at = c.retire
			continue
		}
		at += k.issue
		if op.Flags&Loads != 0 {
			at += a.miss + c.ev[evLoadUse]
			a.miss = 0
		}
		if op.Flags&Stores != 0 {
			at = c.stored(at, a)
		}
	}
	c.count += uint64(n - c.settled)
	c.dispatch, c.retire, c.settled = at, at, n
}

// stored sends a store on its way to the cache and returns when issue goes on. Issue waits only for
// the part of it that the store buffer cannot hide.
func (c *Core) stored(at ticks, a *access) ticks {
	c.drained = max(c.drained+c.storeBusy, at) + a.missW
	a.missW = 0
	return max(at, c.drained-c.slack)
}

// settleBlock is settleThroughput of a whole block: only what is not known beforehand is looked at.
func (c *Core) settleBlock(b *timed) {
	at := max(c.dispatch, c.retire)
	for i := range b.records {
		r := &b.records[i]
		at += r.time
		a := &c.acc[r.at&(accesses-1)]
		if r.inOrder {
			op := &b.ops[r.at]
			c.dispatch, c.retire = at, at
			c.settleInOrder(op, &c.cost[op.Class], a)
			at = c.retire
			continue
		}
		if r.flags&Loads != 0 {
			at += a.miss
			a.miss = 0
		}
		if r.flags&Stores != 0 {
			at = c.stored(at, a)
		}
	}
	at += b.rest
	n := len(b.ops)
	c.count += uint64(n)
	c.dispatch, c.retire, c.settled = at, at, n
	if c.taken && !c.redirect { // as settleBranch does, without what the window model needs
		c.fetched = max(c.fetched, at-c.lead) + c.ev[evTaken]
		at = max(at, c.fetched)
		c.dispatch, c.retire, c.taken = at, at, false
	} else if c.redirect {
		c.settleBranch(at)
		c.retire, c.entering = c.dispatch, false
	}
}

// record prepares a block for settleBlock: the time of a run of instructions that nothing but their
// issue bounds is summed up once.
func (c *Core) record(b *timed) {
	for i := range b.ops {
		op := &b.ops[i]
		k := &c.cost[op.Class]
		r := costRecord{at: uint8(i), flags: op.Flags & (Loads | Stores), inOrder: k.inOrder}
		if !k.inOrder {
			b.rest += k.issue
			if op.Flags&Loads != 0 {
				b.rest += c.ev[evLoadUse]
			}
		}
		if r.flags != 0 || r.inOrder {
			r.time, b.rest = b.rest, 0
			b.records = append(b.records, r)
		}
	}
}
