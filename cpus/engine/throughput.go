package engine

// settleThroughput is settle in the throughput model: an instruction takes its issue bandwidth, a load
// what it makes its successors wait, and misses all they cost.
func (c *Core) settleThroughput(n int) {
	c.settleEach(n)
	if c.outcome&^overrode != 0 {
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
			at += c.ev[evLoadUse]
		}
		if op.Flags&(Loads|Stores) != 0 {
			at += a.miss
			a.miss = 0
		}
		if op.Flags&Stores != 0 {
			at = c.stored(at, a)
		}
	}
	c.count += uint64(n - c.settled)
	c.dispatch, c.retire = at, at
}

// stored sends a store on its way to the cache and returns when issue goes on. Issue waits only for
// the part of it that the store buffer cannot hide.
func (c *Core) stored(at ticks, a *access) ticks {
	c.drained = max(c.drained+c.storeBusy, at) + a.missW
	a.missW = 0
	return max(at, c.drained-c.slack)
}

// settleWhole gives a whole block that was just executed its times if that is soon done, and reports
// whether it is.
func (c *Core) settleWhole(b *timed) bool {
	switch {
	case c.untimed.on:
		return false
	case c.window:
		return c.hitMemo(b)
	}
	return c.settleBlock(b)
}

// settleBlock is settleThroughput of a whole block: only what is not known beforehand is looked at. It reports
// false when a part of the block has been settled.
func (c *Core) settleBlock(b *timed) bool {
	if c.irregular&irregularPart != 0 {
		return false
	}
	at := max(c.dispatch, c.retire)
	if c.irregular&b.irregularMask == 0 && !b.slow {
		for _, t := range b.sends { // loads and stores all hit
			at += t
			c.drained = max(c.drained+c.storeBusy, at)
			at = max(at, c.drained-c.slack)
		}
		at += b.last
	} else {
		records := b.records // for the host: what a store changes is not loaded again
		for i := range records {
			r := &records[i]
			at += r.time
			if r.inOrder {
				at = c.recordInOrder(b, r, at)
				continue
			}
			a := &c.acc[r.at&(accesses-1)]
			at += a.miss
			a.miss = 0
			if r.flags&Stores != 0 {
				at = c.stored(at, a)
			}
		}
		at += b.rest
		c.tidy(len(b.ops))
	}
	c.count += uint64(len(b.ops))
	if c.outcome&^overrode == taken { // as settleBranch does, without what the window model needs
		c.fetched = max(c.fetched, at-c.lead) + c.ev[evTaken]
		at = max(at, c.fetched)
	}
	c.dispatch, c.retire = at, at
	if c.outcome&mispredicted != 0 {
		c.settleBranch(at)
		c.retire, c.entering = c.dispatch, false
	}
	c.outcome = 0
	return true
}

// recordInOrder is settleInOrder of a record.
func (c *Core) recordInOrder(b *timed, r *costRecord, at ticks) ticks {
	op := &b.ops[r.at]
	c.dispatch, c.retire = at, at
	c.settleInOrder(op, &c.cost[op.Class], &c.acc[r.at&(accesses-1)])
	return c.retire
}

// record prepares a block for settleBlock: the time of a run of instructions that nothing but their
// issue bounds is summed up once.
func (c *Core) record(b *timed) {
	b.irregularMask = irregularAll
	since := ticks(0)
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
			since += r.time
			b.records = append(b.records, r)
			if i < insnBits {
				b.irregularMask |= insnBit(i)
			}
			b.slow = b.slow || r.inOrder
		}
		if op.Flags&Stores != 0 {
			b.stores |= insnBit(i)
			b.sends = append(b.sends, since)
			since = 0
		}
	}
	b.last = since + b.rest
	b.slow = b.slow || len(b.ops) > insnBits
}
