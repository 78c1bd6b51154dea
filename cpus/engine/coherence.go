package engine

import (
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// The caches of a CPU that has neighbours. What they cost beside misses is decided by the directory:
// line_transfer in place of the way to memory, line_upgrade on top of a hit.

// attach makes the CPU one of several whose caches are coherent. It then needs the lines that it may
// write apart from those that it has. A CPU alone keeps one list for both and never asks the
// directory.
func (c *Core) attach(d *mmu.Directory) {
	c.dir = d
	c.setDirect()
	if d != nil {
		c.sole = d.CPUs() == 1
		c.sRecent = make([]uint32, len(c.dRecent))
		d.Attach(c.Num, c)
	}
}

// DropLine implements mmu.Copies. The directory calls it when another CPU writes the line, and a reservation in it is lost.
func (c *Core) DropLine(line uint32) {
	if c.line(c.reserve.pa) == line {
		c.DropReservation()
	}
	if c.stale == nil {
		c.l1i.Drop(line)
	} else {
		c.stale.written(line)
	}
	c.l1d.Drop(line)
	c.l2.Drop(line)
	if c.l3 != nil {
		c.l3.Drop(line)
	}
	c.ShareLine(line)
}

// ShareLine implements mmu.Copies. The directory calls it when another CPU reads a line that this
// one has alone; the copy stays.
func (c *Core) ShareLine(line uint32) {
	if c.stale != nil {
		c.stale.written(line)
	}
	if s := &c.sRecent[line&c.dMask]; *s == line+1 {
		*s = 0
	}
}

// line is the number of the line at a physical address; all caches of several CPUs have lines of one size.
func (c *Core) line(pa uint64) uint32 { return uint32(pa >> (c.dShift & 63)) }

// bring takes a line into a first-level cache and the second level and counts in misses when the first
// had it not. It returns what that takes, and whether memory or another CPU must supply the line.
func (c *Core) bring(first *mmu.Cache, line uint32, misses *uint64) (d clock.Ticks, missed bool) {
	hit, gone := first.Bring(line)
	if hit {
		return c.l1Lat, false
	}
	*misses++
	if c.stale != nil && gone != 0 {
		c.gone(first, gone-1)
	}
	c.evicted(gone)
	return c.bringBehind(line)
}

// bringBehind is bring behind the first level.
func (c *Core) bringBehind(line uint32) (d clock.Ticks, missed bool) {
	misses := c.levels.Behind(uint64(line) << (c.dShift & 63))
	if misses == 1 {
		return c.l2Lat, false
	}
	c.Counts.L2Misses++
	gone, last := c.levels.Gone[1], uint32(0)
	if c.l3 != nil {
		last = c.levels.Gone[2]
	}
	if c.levels.Inclusive && last != 0 {
		c.ShareLine(last - 1)
	}
	c.evicted(gone)
	c.evicted(last)
	return c.latencies[misses&3], misses == 3
}

// gone tells the instruction side of a line that has left a first-level cache.
func (c *Core) gone(first *mmu.Cache, line uint32) {
	if first == c.l1i {
		c.stale.left(line)
	} else {
		c.stale.written(line)
	}
}

// holds reports whether a cache has a line that other CPUs must ask for: an instruction cache that is
// not coherent does not count.
func (c *Core) holds(line uint32) bool {
	return c.levels.Has(line) || c.stale == nil && c.l1i.Has(line)
}

// evicted tells the directory of a line (plus one) that has left its last cache. The directory is
// exact: a CPU that it lists without need would cost others an upgrade. Where there are no others, it knows
// of lines that were written, and of no more.
func (c *Core) evicted(gone uint32) {
	if line := gone - 1; gone != 0 && (!c.sole || c.dir.Owns(c.Num, line)) && !c.holds(line) {
		c.dir.Evict(c.Num, line)
	}
}

// lookupAlone is lookupShared where there are no neighbours.
func (c *Core) lookupAlone(pa uint64) clock.Ticks {
	line := c.line(pa)
	own := &c.sRecent[line&c.dMask]
	*own = 0
	misses := c.levels.Load(pa)
	if misses != 3 && c.dir.Owns(c.Num, line) {
		*own = line + 1
	}
	if misses == 0 {
		return c.l1Lat
	}
	c.evictedAlone(misses)
	return c.missed(misses)
}

// evictedAlone tells the directory, where there are no neighbours, of the lines that have left the levels that the last
// load has missed.
func (c *Core) evictedAlone(misses uint) {
	if line := c.levels.Gone[0] - 1; line+1 != 0 && c.dir.Owns(c.Num, line) { // nothing of another line is held back
		if c.stale != nil {
			c.stale.written(line)
		}
		if !c.holds(line) {
			c.dir.Evict(c.Num, line)
		}
	}
	if misses > 1 {
		c.evicted(c.levels.Gone[1])
	}
	if c.l3 != nil && (misses > 2 || misses > 1 && c.levels.Exclusive) {
		c.evicted(c.levels.Gone[2])
	}
}

// lookupShared is lookup for a load beside neighbours.
func (c *Core) lookupShared(pa uint64) clock.Ticks {
	line := c.line(pa)
	d, fresh := c.read(c.l1d, line, &c.Counts.L1DMisses)
	own := &c.sRecent[line&c.dMask] // never of another line than dRecent
	*own = 0
	if !fresh && c.dir.Owns(c.Num, line) { // what comes from elsewhere is clean
		*own = line + 1
	}
	return d
}

// read brings a line in for a load or a fetch, and reports whether no cache of this CPU had it.
func (c *Core) read(first *mmu.Cache, line uint32, misses *uint64) (d clock.Ticks, fresh bool) {
	d, missed := c.bring(first, line, misses)
	if !missed || c.sole {
		return d, missed
	}
	switch c.dir.Read(c.Num, line) {
	case mmu.Quiet:
		return d, false
	case mmu.Transfer:
		c.Counts.Transfers++
		d = c.occupy(line, c.ev[evTransfer])
	}
	return d, true
}

// occupy returns what a transfer or upgrade takes that begins with the running instruction. Transfers of
// one line follow each other, which makes a contended line slow.
func (c *Core) occupy(line uint32, t clock.Ticks) clock.Ticks {
	c.Settle()
	return c.dir.Occupy(line, max(c.retire, c.dispatch), t)
}

// lookupOwned is lookup for a store beside neighbours: the line is this CPU's alone afterwards.
func (c *Core) lookupOwned(pa uint64) clock.Ticks {
	line := c.line(pa)
	var d clock.Ticks
	if c.storesAround(line) {
		c.Counts.L1DMisses++
		d, _ = c.bringBehind(line)
		d = c.around(d)
	} else {
		d, _ = c.bring(c.l1d, line, &c.Counts.L1DMisses)
		c.sRecent[line&c.dMask] = line + 1
	}
	supply := c.dir.Write(c.Num, line)
	if c.stale != nil {
		c.stale.storing(line)
	}
	switch supply {
	case mmu.Transfer:
		c.Counts.Transfers++
		return c.occupy(line, c.ev[evTransfer])
	case mmu.Upgrade:
		c.Counts.Upgrades++
		return d + c.occupy(line, c.ev[evUpgrade])
	}
	return d
}

// fetchShared is missFetch beside neighbours.
func (c *Core) fetchShared(pa uint64) {
	before, line := c.Counts.L1IMisses, c.line(pa)
	held := c.stale.heldBack(line)
	if d, _ := c.read(c.l1i, line, &c.Counts.L1IMisses); c.Counts.L1IMisses != before {
		if c.stale != nil {
			c.stale.holdBack(line, held)
			c.brought(line)
		}
		c.holdUp(d)
		c.step.Stalls.ICache += d
	}
}

// claim takes the line of a locked instruction's operand before it is read, in one transaction.
// Without it the read would fetch the line shared and the write would pay for an upgrade as well.
func (c *Core) claim(pa, n uint64) {
	for _, at := range [...]uint64{pa, pa + n - 1} {
		line := c.line(at)
		if c.sRecent[line&c.dMask] == line+1 {
			continue
		}
		if d := c.lookupOwned(at) - c.l1Lat; d > 0 {
			c.delay(inMiss, d)
			c.step.Stalls.DCache += d
		}
	}
}

// claims reports whether the running instruction is locked and the CPU has neighbours.
func (c *Core) claims() bool {
	return c.dir != nil && !c.bypassesCaches() && c.isLocked()
}

// Cached reports whether a line is in a cache, whether it may be written without asking, and whether it
// is the one of its L1D set that was used last.
func (c *Core) Cached(line uint32) (held, writable, recent bool) {
	return c.holds(line), c.sRecent[line&c.dMask] == line+1, c.dRecent[line&c.dMask] == line+1
}
