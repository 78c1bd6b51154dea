package engine

import (
	"math/bits"

	"kprobesim/internal/clock"
	"kprobesim/internal/hostcode"
	"kprobesim/mmu"
)

// touchLoad sends a load through the caches. A hit on the line that its set used last is answered
// from the tags alone: bit-PLRU does not change by it. Only the window model forwards from stores,
// so only there they are looked for.
func (c *Core) touchLoad(pa, n uint64) {
	line := uint32(pa >> (c.dShift & 63))
	if c.dRecent[line&c.dMask] != line+1 {
		c.missLoad(pa)
	}
	if pa&c.lineMask+n > c.lineMask+1 {
		c.splitLoad(pa)
	}
	if c.window && c.storesMatter() && c.mayFind(pa, n) {
		c.findStore(pa, n)
	}
	if c.columnsMatter() {
		c.noteColumns(pa, n)
	}
}

// loadOther is touchLoad of n bytes in one line, which is not the one that its set used last. The guest reads v.
//
// It begins by asking the host's caches for what the operand may lead to: what is loaded and misses the guest's first
// level may be a pointer to what misses the host's. The cost model then works while the host's memory does.
func (c *Core) loadOther(pa, n, v uint64) {
	if n >= 4 {
		if e := &c.micro[v>>pageShift&(microEntries-1)]; e.read == v>>pageShift+c.microGen {
			hostcode.Prefetch(e.at(v & pageMask))
		}
	}
	if c.direct == nil {
		c.missLoad(pa)
	} else if misses := c.direct.LoadKnown(pa); misses == mmu.Unknown {
		c.missLoad(pa)
	} else if misses != 0 {
		if d := c.missed(misses) - c.l1Lat; d > 0 { // what missLoad does, in line
			c.step.Stalls.DCache += d
			switch i := c.idx; {
			case c.memo.pause != 0 || !c.window:
				c.acc[i&(accesses-1)].miss += d
				c.irregular |= insnBit(i) | irregularAccess
			case c.outcome < oneInput:
				c.memo.inputs[0] = uint64(d)<<16 | uint64(i)<<8 | inMiss
				c.outcome += oneInput
			default:
				c.delay(inMiss, d)
			}
		}
	}
	if c.window && c.storesMatter() && c.mayFind(pa, n) {
		c.findStore(pa, n)
	}
}

// setDirect sets direct, when what decides about it has changed.
func (c *Core) setDirect() {
	if c.direct = c.levels; c.dir != nil || c.prefetcher != nil || c.untimed.on || c.levels.Exclusive {
		c.direct = nil
	}
}

// ordered is an operand of n bytes, four or eight, in the order of bytes of the guest.
func (c *Core) ordered(v, n uint64) uint64 {
	switch {
	case !c.swapped:
		return v
	case n == 8:
		return bits.ReverseBytes64(v)
	}
	return uint64(bits.ReverseBytes32(uint32(v)))
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
	if c.pairs {
		c.notePair(pa, n)
	}
	s := sentStore{pa, pa + n, number}
	c.sent[pa>>2&(sentUnits-1)] = s
	c.sent[(s.end-1)>>2&(sentUnits-1)] = s
	if by := c.sends; by>>(i&63)&1 == 0 {
		c.sends = by | 1<<(i&63)
	} else {
		c.irregular |= irregularAccess
	}
}

// missLoad looks further than the most recent line of the set. Latencies in the machine description
// count from the use of the address, so the L1 latency, which the model charges itself, is taken
// off.
func (c *Core) missLoad(pa uint64) {
	line := uint32(pa >> (c.dShift & 63))
	if c.bypassesCaches() {
		c.dRecent[line&c.dMask] = line + 1
		return
	}
	if d := c.demand(pa, reads) - c.l1Lat; d > 0 {
		c.delay(inMiss, d)
		c.step.Stalls.DCache += d
	}
}

// missStore is missLoad for a store, whose delay the store buffer may hide.
func (c *Core) missStore(pa uint64) {
	if c.bypassesCaches() {
		line := c.line(pa)
		c.sRecent[line&c.dMask] = line + 1
		return
	}
	if d := c.demand(pa, writes) - c.l1Lat; d > 0 {
		c.delay(c.asks, d)
		c.step.Stalls.DCache += d
	}
}

// demand is lookup or lookupStore of an access that prefetchers see.
func (c *Core) demand(pa uint64, kind accessKind) (d ticks) {
	sees := c.prefetcher != nil && !c.l1d.Has(c.line(pa))
	if kind == reads {
		d = c.lookup(pa)
	} else {
		d = c.lookupStore(pa)
	}
	if sees {
		d = c.prefetches(pa, kind == reads, d)
	}
	return d
}

// splitLoad brings in the second line of a load that crosses one.
func (c *Core) splitLoad(pa uint64) {
	c.missLoad(pa + c.lineMask + 1)
	c.delay(inMiss, c.ev[evSplit])
	c.step.Stalls.Split += c.ev[evSplit]
}

// splitStore brings in the second line of a store that crosses one. Where one store a cycle reaches the cache, its second
// part takes a cycle more.
func (c *Core) splitStore(last uint64) {
	c.missStore(last)
	cost := c.ev[evSplit]
	if c.pairs {
		cost = clock.PerCycle
	}
	c.delay(inMissW, cost)
	c.step.Stalls.Split += cost
}

// lookup returns the load-to-use latency of data at pa and brings its line in. What a line displaces
// costs nothing: write-backs are left out.
func (c *Core) lookup(pa uint64) clock.Ticks {
	switch {
	case c.sole:
		return c.lookupAlone(pa)
	case c.dir != nil:
		return c.lookupShared(pa)
	}
	if misses := c.levels.Load(pa); misses != 0 {
		return c.missed(misses)
	}
	return c.l1Lat
}

// missed counts the levels of caches, of those that a load passes, that had its line not, and returns what it takes.
func (c *Core) missed(levels uint) clock.Ticks {
	c.Counts.L1DMisses++
	c.Counts.L2Misses += uint64(levels >> 1) // one for 2 and 3
	return c.latencies[levels&3]
}

// lookupBehind is lookup behind the first level where no directory is asked.
func (c *Core) lookupBehind(pa uint64) clock.Ticks {
	misses := c.levels.Behind(pa)
	c.Counts.L2Misses += uint64(misses >> 1)
	return c.latencies[misses&3]
}

// lookupStore is lookup for a store. One that misses brings its line in as a load does, if it does not go around
// the first level.
func (c *Core) lookupStore(pa uint64) clock.Ticks {
	switch {
	case c.dir != nil:
		return c.lookupOwned(pa)
	case c.storesAround(uint32(pa >> (c.dShift & 63))):
		c.Counts.L1DMisses++
		return c.around(c.lookupBehind(pa))
	}
	return c.lookup(pa)
}

// storesAround reports whether a store to a line goes to the second level and leaves the first alone.
func (c *Core) storesAround(line uint32) bool { return c.writeAround && !c.l1d.Has(line) }

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
