package engine

import "kprobesim/internal/clock"

// touchLoad sends a load through the caches. A hit on the line that its set used last is answered
// from the tags alone: bit-PLRU does not change by it. Only the window model forwards from stores,
// so only there they are looked for.
func (c *Core) touchLoad(pa, n uint64) {
	line := uint32(pa >> (c.dShift & 63))
	switch {
	case c.dRecent[line&c.dMask] == line+1:
	case c.dir != nil || c.quick.on:
		c.missLoad(pa)
	default: // what missLoad does, in line
		if hit, _ := c.l1d.Bring(line); hit {
			break
		}
		c.Counts.L1DMisses++
		d := c.l2Lat
		if hit, _ := c.l2.Bring(uint32(pa >> c.l2.Shift())); !hit {
			d = c.missSecond(pa)
		}
		if d > c.l1Lat {
			c.missed(d - c.l1Lat)
		}
	}
	if pa&c.lineMask+n > c.lineMask+1 {
		c.splitLoad(pa)
	}
	if c.window && c.storesMatter() && c.mayFind(pa, n) {
		c.findStore(pa, n)
	}
}

// touchOwnLines sends a store through the caches. sRecent holds only lines that this CPU may write without
// asking, so a hit there needs no directory.
func (c *Core) touchOwnLines(pa, n uint64) {
	line := uint32(pa >> (c.dShift & 63))
	if c.sRecent[line&c.dMask] != line+1 {
		c.missStore(pa)
	}
	if pa&c.lineMask+n > c.lineMask+1 {
		c.splitStore(pa + n - 1)
	}
}

// send notes a store's data for younger loads.
func (c *Core) send(pa, n uint64) {
	number, i := c.sequence+1, c.idx
	c.sequence = number
	c.acc[i&(accesses-1)].store = number
	s := sentStore{pa, pa + n, number}
	c.sent[pa>>2&(sentUnits-1)] = s
	c.sent[(s.end-1)>>2&(sentUnits-1)] = s
	if by := c.sends; by>>(i&63)&1 == 0 {
		c.sends = by | 1<<(i&63)
	} else {
		c.odd |= oddAccess
	}
}

// missLoad looks further than the most recent line of the set. Latencies in the machine description
// count from the use of the address, so the L1 latency, which the model charges itself, is taken
// off.
func (c *Core) missLoad(pa uint64) {
	line := uint32(pa >> (c.dShift & 63))
	if c.warps() {
		c.dRecent[line&c.dMask] = line + 1
		return
	}
	if d := c.lookup(pa); d > c.l1Lat {
		c.missed(d - c.l1Lat)
	}
}

// missed has a load wait for its line.
func (c *Core) missed(d clock.Ticks) {
	c.step.Stalls.DCache += d
	i := c.idx // what delay does, in line
	if c.memo.pause != 0 || !c.window {
		c.acc[i&(accesses-1)].miss += d
		c.odd |= oddBit(i) | oddAccess
		return
	}
	what := uint64(d)<<16 | uint64(i)<<8 | inMiss
	if c.course >= oneInput {
		c.met(what)
		return
	}
	c.memo.inputs[0] = what
	c.course += oneInput
}

// missStore is missLoad for a store, whose delay the store buffer may hide.
func (c *Core) missStore(pa uint64) {
	if c.warps() {
		line := c.line(pa)
		c.sRecent[line&c.dMask] = line + 1
		return
	}
	if d := c.lookupStore(pa) - c.l1Lat; d > 0 {
		c.delay(inMissW, d)
		c.step.Stalls.DCache += d
	}
}

// splitLoad brings in the second line of a load that crosses one.
func (c *Core) splitLoad(pa uint64) {
	c.missLoad(pa + c.lineMask + 1)
	c.delay(inMiss, c.ev[evSplit])
	c.step.Stalls.Split += c.ev[evSplit]
}

// splitStore brings in the second line of a store that crosses one.
func (c *Core) splitStore(last uint64) {
	c.missStore(last)
	c.delay(inMissW, c.ev[evSplit])
	c.step.Stalls.Split += c.ev[evSplit]
}

// lookup returns the load-to-use latency of data at pa and brings its line in. What a line displaces
// costs nothing: write-backs and the bandwidth of memory are left out.
func (c *Core) lookup(pa uint64) clock.Ticks {
	switch {
	case c.sole:
		return c.lookupAlone(c.line(pa))
	case c.dir != nil:
		return c.lookupShared(pa)
	}
	if c.l1d.Touch(uint32(pa >> c.l1d.Shift())) {
		return c.l1Lat
	}
	c.Counts.L1DMisses++
	return c.lookupBehind(pa)
}

// lookupBehind is lookup behind the first level.
func (c *Core) lookupBehind(pa uint64) clock.Ticks {
	if c.l2.Touch(uint32(pa >> c.l2.Shift())) {
		return c.l2Lat
	}
	return c.missSecond(pa)
}

// missSecond is lookup behind the second level.
func (c *Core) missSecond(pa uint64) clock.Ticks {
	c.Counts.L2Misses++
	if c.l3 != nil && c.l3.Touch(uint32(pa>>c.l3.Shift())) {
		return c.l3Lat
	}
	return c.memLat
}

// lookupStore is lookup for a store. One that misses brings its line in as a load does, if it does not go around
// the first level.
func (c *Core) lookupStore(pa uint64) clock.Ticks {
	switch {
	case c.dir != nil:
		return c.lookupOwned(pa)
	case c.goesAround(uint32(pa >> (c.dShift & 63))):
		c.Counts.L1DMisses++
		return c.around(c.lookupBehind(pa))
	}
	return c.lookup(pa)
}

// goesAround reports whether a store to a line goes to the second level and leaves the first alone.
func (c *Core) goesAround(line uint32) bool { return c.writeAround && !c.l1d.Has(line) }

// around is the time of a store that goes around the first level, where the second takes d to answer a load. All
// stores go there, and one that finds its line has no further to go than others.
func (c *Core) around(d clock.Ticks) clock.Ticks {
	if d == c.l2Lat {
		return c.l1Lat
	}
	return d
}

// missFetch brings a line into the instruction cache and stalls the front end. The stall delays
// dispatch of what follows and nothing that is in flight already.
func (c *Core) missFetch(pa uint64) {
	if c.dir != nil {
		c.fetchShared(pa)
		return
	}
	if c.l1i.Touch(uint32(pa >> c.l1i.Shift())) {
		return
	}
	c.Counts.L1IMisses++
	d := c.lookupBehind(pa)
	c.holdUp(d)
	c.step.Stalls.ICache += d
}
