package engine

import "kprobesim/internal/clock"

// commitPairs is commit of a core with pipes where one store a cycle reaches the cache, and a second one to the same line, or a buffer of
// several.
func (c *Core) commitPairs(when ticks, a *access) {
	p := c.pipes
	if p.entering != 0 {
		p.entered = max(p.entered+p.entering, when)
		when = p.entered
		p.paired = a.pair && when <= c.drained
	} else {
		p.paired = a.pair && !p.paired && when <= c.drained
	}
	if !p.paired {
		c.drained = max(c.drained+clock.PerCycle, when)
	}
}

// storePipes is scheduleStore of a core with pipes: one for the address, where there is one, and one for the data.
func (c *Core) storePipes(op *Op, d, done ticks, a *access) ticks {
	p := c.pipes
	address := p.take(p.address, max(d, c.ready[op.Base&regMask], c.ready[op.Index&regMask]), p.atStart) + a.miss
	a.miss = 0
	done = p.take(p.data, max(d, done), p.atStart)
	done = max(done, address)
	s := storeTimes{data: done}
	if c.conflicts != nil {
		s.address = address
	}
	c.name(op, &s)
	c.commit(op, s, address, max(c.retire, done)+c.ev[evCommit], a)
	return done
}
