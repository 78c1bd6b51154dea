package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// scheduleBlock is settleWindow without its memory. The times of dispatch and retirement are kept in machine
// registers of the host while nothing else looks at them.
func (c *Core) scheduleBlock(n int) {
	if c.entering {
		c.enterWindow()
	}
	var done ticks
	if c.pipes != nil {
		done = c.schedulePipes(c.cur.ops[:n])
	} else {
		done = c.scheduleOps(c.cur.ops[:n])
	}
	c.count += uint64(n - c.settled)
	if c.outcome != 0 {
		c.settleBranch(done)
	}
	if c.memo.here == 0 {
		c.live = c.seen
		if c.drained <= c.dispatch {
			c.live = 0 // all are in the cache, and no load waits for one
		}
	}
}

// scheduleOps schedules the instructions of the running block from the settled ones on, and returns when the last has its
// result.
func (c *Core) scheduleOps(ops []Op) (done ticks) {
	d, retire, at := c.dispatch, c.retire, c.at
	fetches := c.fetches()
	for i := c.settled; i < len(ops); i++ {
		op := &ops[i]
		k := &c.cost[op.Class]
		if k.inOrder {
			c.dispatch, c.retire, c.at = d, retire, at
			c.settleInOrder(op, k, &c.acc[i&(accesses-1)])
			d, retire, at, done = c.dispatch, c.retire, c.at, c.retire
			continue
		}
		// Fetch, decode and dispatch: a window of bytes a cycle, the first slot of a decode group for
		// what takes several, a free slot and a free entry of the reorder buffer.
		if op.Flags&fetches != 0 {
			c.fetched = max(c.fetched, d-c.lead) + clock.PerCycle
			d = max(d, c.fetched)
		}
		if k.first {
			d = (d + clock.PerCycle - 1) / clock.PerCycle * clock.PerCycle
		}
		if op.Flags&(moves|namesStack) != 0 {
			d = c.stackPointer(op, d)
		}
		loads := op.Flags&Loads != 0 && c.loads != nil
		if loads {
			d = max(d, c.loads.free())
		}
		next := retire + c.slot
		if c.grouped {
			d, at = c.scheduleInGroup(op, k, d, at, retire)
			next = max(retire, c.group.floor)
		} else {
			d = max(d+k.slots, c.ring[at&(cpus.MaxWindow-1)])
		}
		if c.scoreboard {
			d = c.inOrder(op, k, d)
		}
		d, retire, done = c.scheduleOp(op, d, next, &c.acc[i&(accesses-1)])
		if loads {
			c.loads.take(retire)
		}
		if c.grouped {
			c.ring[c.group.place&(cpus.MaxWindow-1)] = retire
			continue
		}
		c.ring[at&(cpus.MaxWindow-1)] = retire
		if at++; at >= c.rob {
			at = 0
		}
	}
	c.dispatch, c.retire, c.at = d, retire, at
	return done
}

// scheduleOp executes and retires an instruction that was dispatched, which retires at next at the earliest. It returns the
// time of dispatch behind it, when it retires and when it is done.
func (c *Core) scheduleOp(op *Op, d, next ticks, a *access) (_, retire, done ticks) {
	// Execution: a free port and what is behind it, the operands, and for a load its data.
	k := &c.cost[op.Class]
	start := max(d, c.port[k.port&portMask], c.port[k.unit&portMask])
	c.port[k.unit&portMask] = start + k.busy
	c.port[k.port&portMask] = start + k.occupancy
	c.port[noPort] = 0
	free := start
	if op.Flags&Loads != 0 {
		start = max(start, c.loaded(op, d, a))
	}
	done = max(start, c.ready[op.S1&regMask], c.ready[op.S2&regMask], c.ready[op.S3&regMask]) + k.latency
	second := done
	if k.second != 0 {
		second = c.secondResult(op, k, free, done)
	}
	c.ready[op.O1&regMask] = done
	c.ready[op.O2&regMask] = second
	c.readyAlso(op.Also, done)
	if op.Flags&Stores != 0 {
		done = c.scheduleStore(op, d, next, done, a)
		d = max(d, c.drained-c.slack)
	}
	return d, max(next, done, second), done // in order
}

// scheduleStore sends a store of an instruction that has its result at a time on its way to the cache, and returns when the
// instruction is done.
func (c *Core) scheduleStore(op *Op, d, next, done ticks, a *access) ticks {
	p := max(c.port[portStore], d)
	c.port[portStore] = p + c.storeBusy
	p = max(p, c.ready[op.Base&regMask], c.ready[op.Index&regMask]) + a.miss
	a.miss = 0
	done = max(done, p)
	c.commit(op, storeTimes{data: done}, p, max(next, done)+c.ev[evCommit], a)
	return done
}

// fetches is the flag of instructions that have to be fetched: none has when the loop buffer feeds decode.
func (c *Core) fetches() uint16 {
	if c.streams {
		return 0
	}
	return newWindow
}

// inOrder returns when an instruction can start on a core that starts them in order: when its operands, its
// port and what is behind it are free. What comes behind it starts no earlier. A load that misses holds up
// what waits for it, and nothing else.
func (c *Core) inOrder(op *Op, k *price, d ticks) ticks {
	d = max(d, c.port[k.port&portMask], c.port[k.unit&portMask])
	d = max(d, c.ready[op.S1&regMask], c.ready[op.S2&regMask], c.ready[op.S3&regMask])
	if op.Flags&(Loads|Stores) != 0 {
		d = max(d, c.ready[op.Base&regMask], c.ready[op.Index&regMask])
	}
	if op.Flags&Loads != 0 {
		d = max(d, c.port[portLoad])
	}
	if op.Flags&Stores != 0 {
		d = max(d, c.port[portStore])
	}
	return d
}

// enterWindow fetches the window that a branch landed in, when its first instruction does not begin one.
func (c *Core) enterWindow() {
	c.entering = false
	switch {
	case !c.cur.entered:
	case c.pipes != nil:
		c.fetched = max(c.fetched, c.dispatch-c.lead) + clock.PerCycle
	default:
		c.fetched = max(c.fetched, c.dispatch-c.lead) + clock.PerCycle
		c.dispatch = max(c.dispatch, c.fetched)
	}
}

// stackPointer schedules the change of the stack pointer by push and its like, and returns when the instruction
// is dispatched. A stack engine does it while it decodes, and what names the pointer next waits for an
// operation that adds up what was held back. Without one it is an addition like any other.
func (c *Core) stackPointer(op *Op, d ticks) ticks {
	sp := &c.ready[c.stack&regMask]
	if op.Flags&namesStack != 0 && c.moved {
		d += c.slot
		*sp = max(*sp, d) + clock.PerCycle
		c.moved = false
	}
	if op.Flags&moves != 0 {
		c.ready[stackAddress] = *sp
		if c.moved = c.stackEngine; !c.stackEngine {
			*sp = max(*sp, d+c.slot) + clock.PerCycle // it is dispatched with the instruction
		}
	}
	return d
}

// loaded returns when a load's value arrives. A load waits for its address, its port, its line, and
// for a store before it to the same bytes. It waits for no other store (conflicted).
func (c *Core) loaded(op *Op, d ticks, a *access) ticks {
	p := max(c.port[portLoad], d)
	c.port[portLoad] = p + c.loadBusy
	return c.loadedAt(op, max(p, c.ready[op.Base&regMask], c.ready[op.Index&regMask]), a)
}

// loadedAt is loaded of a load that looks for its data at a time.
func (c *Core) loadedAt(op *Op, at ticks, a *access) ticks {
	start := at + c.l1Lat + a.miss
	if a.match != noStore {
		start = c.forwardedAt(op, at, start, a)
	}
	a.miss = 0
	return start
}

// forwardedAt is loaded of a load that looks for its data at a time and finds a store before it. start is when the
// cache answers.
func (c *Core) forwardedAt(op *Op, at, start ticks, a *access) ticks {
	f := &c.stores[a.load&(forwards-1)]
	switch found := a.match & foundKind; {
	case f.commit <= at: // it is in the cache
	case found == blocking:
		start = max(start, f.commit+c.l1Lat)
	case found == longer:
		start = max(start, f.data+c.ev[evLonger])
	case op.Flags&Pops != 0 && f.pushed:
		start = max(start, f.data+c.ev[evStackForward])
	case op.Flags&Stores != 0:
		start = max(start, f.data+c.ev[evModifyForward])
	default:
		start = max(start, f.data+c.ev[evForward])
	}
	a.match = noStore
	return start
}
