package x86

import "kprobesim/mmu"

// The caches of a CPU that has neighbours. What they cost beside misses is decided by the directory:
// line_transfer in place of the way to memory, line_upgrade on top of a hit.

// attach makes the CPU one of several whose caches are coherent.
func (c *CPU) attach(d *mmu.Directory) {
	c.dir = d
	if d != nil {
		c.sRecent = make([]uint32, len(c.dRecent))
		d.Attach(c.num, c)
	}
}

// DropLine implements mmu.Copies.
func (c *CPU) DropLine(line uint32) {
	c.l1i.Drop(line)
	c.l1d.Drop(line)
	c.l2.Drop(line)
	c.ShareLine(line)
}

// ShareLine implements mmu.Copies.
func (c *CPU) ShareLine(line uint32) {
	if s := &c.sRecent[line&c.dMask]; *s == line+1 {
		*s = 0
	}
}

// bring takes a line into a first-level cache and the second level and counts in misses when the first
// had it not. It returns what that takes, and whether memory or another CPU must supply the line.
func (c *CPU) bring(first *mmu.Cache, line uint32, misses *uint64) (d ticks, missed bool) {
	hit, gone := first.Bring(line)
	if hit {
		return c.l1Lat, false
	}
	*misses++
	c.evicted(gone)
	hit, gone = c.l2.Bring(line)
	if hit {
		return c.l2Lat, false
	}
	c.evicted(gone)
	c.ctr.L2Misses++
	return c.memLat, true
}

// evicted tells the directory of a line (plus one) that has left its last cache.
func (c *CPU) evicted(gone uint32) {
	if line := gone - 1; gone != 0 && !c.l1d.Has(line) && !c.l2.Has(line) && !c.l1i.Has(line) {
		c.dir.Evict(c.num, line)
	}
}

// lookupShared is lookup for a load beside neighbours.
func (c *CPU) lookupShared(pa uint64) ticks {
	line := uint32(pa >> mmu.LineShift)
	d := c.read(c.l1d, line, &c.ctr.L1DMisses)
	own := &c.sRecent[line&c.dMask] // never of another line than dRecent
	*own = 0
	if c.dir.Owns(c.num, line) {
		*own = line + 1
	}
	return d
}

// read brings a line in for a load or a fetch.
func (c *CPU) read(first *mmu.Cache, line uint32, misses *uint64) ticks {
	d, missed := c.bring(first, line, misses)
	if missed && c.dir.Read(c.num, line) == mmu.Transfer {
		c.ctr.Transfers++
		return c.occupy(line, c.ev[evTransfer])
	}
	return d
}

// occupy returns what a transfer or upgrade takes that begins with the running instruction.
func (c *CPU) occupy(line uint32, t ticks) ticks {
	c.settleBefore()
	return c.dir.Occupy(line, max(c.retire, c.dispatch), t)
}

// lookupOwned is lookup for a store beside neighbours: the line is this CPU's alone afterwards.
func (c *CPU) lookupOwned(pa uint64) ticks {
	line := uint32(pa >> mmu.LineShift)
	d, _ := c.bring(c.l1d, line, &c.ctr.L1DMisses)
	c.sRecent[line&c.dMask] = line + 1
	switch c.dir.Write(c.num, line) {
	case mmu.Transfer:
		c.ctr.Transfers++
		return c.occupy(line, c.ev[evTransfer])
	case mmu.Upgrade:
		c.ctr.Upgrades++
		return d + c.occupy(line, c.ev[evUpgrade])
	}
	return d
}

// fetchShared is missFetch beside neighbours.
func (c *CPU) fetchShared(pa uint64) {
	before := c.ctr.L1IMisses
	if d := c.read(c.l1i, uint32(pa>>mmu.LineShift), &c.ctr.L1IMisses); c.ctr.L1IMisses != before {
		c.dispatch += d
		c.step.Stalls.ICache += d
	}
}

// claim takes the line of a locked instruction's operand before it is read, in one transaction.
func (c *CPU) claim(pa, n uint64) {
	for _, at := range [...]uint64{pa, pa + n - 1} {
		line := uint32(at >> mmu.LineShift)
		if c.sRecent[line&c.dMask] == line+1 {
			continue
		}
		if d := c.lookupOwned(at) - c.l1Lat; d > 0 {
			c.acc[c.idx&(accesses-1)].miss += d
			c.step.Stalls.DCache += d
		}
	}
}

// claims reports whether the running instruction is locked and the CPU has neighbours.
func (c *CPU) claims() bool {
	return c.dir != nil && c.idx != between && c.cur.insts[c.idx].locked()
}

func (in *inst) locked() bool { return in.class == clLocked || in.flags&fLock != 0 }
