package x86

import (
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Control register bits (SDM vol. 3, 2.5).
const (
	cr0PE = 1 << 0
	cr0MP = 1 << 1
	cr0EM = 1 << 2
	cr0TS = 1 << 3
	cr0ET = 1 << 4
	cr0NE = 1 << 5
	cr0WP = 1 << 16
	cr0AM = 1 << 18
	cr0NW = 1 << 29
	cr0CD = 1 << 30
	cr0PG = 1 << 31

	cr4TSD = 1 << 2
	cr4DE  = 1 << 3
	cr4PSE = 1 << 4
	cr4PAE = 1 << 5
	cr4PGE = 1 << 7
)

// Page-fault error code bits (SDM vol. 3, 4.7).
const (
	pfPresent  = 1 << 0
	pfWrite    = 1 << 1
	pfUser     = 1 << 2
	pfReserved = 1 << 3
	pfFetch    = 1 << 4
)

func canonical(va uint64) bool { return uint64(int64(va<<16)>>16) == va }

// canonical reports an address that can be translated: in 32-bit mode one of 32 bits, the others lying
// beyond the limit of every segment.
func (c *CPU) canonical(va uint64) bool { return canonical(va) && va&^c.linMask == 0 }

// page translates a data address, through the TLB or by a walk. It returns nil with the exception
// pending when the access is refused.
func (c *CPU) page(va uint64, acc mmu.Access) *mmu.Page {
	if !c.canonical(va) {
		c.raiseCode(vecGP, 0)
		c.fault.address = true
		return nil
	}
	p := c.dtlb.Find(va)
	if p != nil && (!p.Allows(acc) || acc.Write && !p.Dirty) {
		c.dtlb.Drop(va)
		p = nil
	}
	if p == nil {
		p = c.walk(c.dtlb, va, acc)
	}
	if c.dtlb.Generation != c.dtlbGen {
		c.dtlbGen = c.dtlb.Generation
		c.forgetData()
	}
	return p
}

// walk fills a TLB from the page tables and charges the reads of the walker.
func (c *CPU) walk(t *mmu.TLB, va uint64, acc mmu.Access) *mmu.Page {
	found, refs, f := c.tables.Walk(c.memory, c.cr3, va, acc)
	cost := c.walkCost(&refs)
	if acc.Exec {
		c.ctr.ITLBMisses++
		c.step.Stalls.ITLB += cost
		c.dispatch += cost
	} else {
		c.ctr.DTLBMisses++
		c.step.Stalls.DTLB += cost
		c.acc[c.idx&(accesses-1)].miss += cost
	}
	if f != nil {
		c.pageFault(va, acc, f)
		return nil
	}
	return t.Insert(found)
}

func (c *CPU) walkCost(refs *mmu.Refs) clock.Ticks {
	cost := c.ev[evTLBWalk]
	for i := range refs.N {
		if c.memory.Holds(refs.PA[i], 8) {
			cost += c.lookup(refs.PA[i])
		}
	}
	return cost
}

func (c *CPU) pageFault(va uint64, acc mmu.Access, f *mmu.Fault) {
	var code uint32
	for _, b := range [...]struct {
		set bool
		bit uint32
	}{
		{f.Present, pfPresent},
		{acc.Write, pfWrite},
		{acc.User, pfUser},
		{f.Reserved, pfReserved},
		{acc.Exec && c.tables.ForbidsExecution(), pfFetch},
	} {
		if b.set {
			code |= b.bit
		}
	}
	c.cr2 = va
	c.raiseCode(vecPF, code)
}

// noteRead and noteWrite copy a translation in front of the TLB, unless watchpoints must see every
// access.
func (c *CPU) noteRead(va, pa uint64) {
	if !c.watching {
		c.note(va, pa).read = va>>12 + c.lookGen
	}
}

func (c *CPU) noteWrite(va, pa uint64) {
	if !c.watching {
		c.note(va, pa).write = va>>12 + c.lookGen
	}
}

// note makes the entry of a page its own; another page's rights go.
func (c *CPU) note(va, pa uint64) *look {
	e := &c.look[va>>12&(looks-1)]
	if page := pa &^ 0xfff; e.base != page || e.read != va>>12+c.lookGen && e.write != va>>12+c.lookGen {
		*e = look{base: page}
	}
	return e
}

// forgetData empties the copies of data translations: a new generation matches no old entry.
func (c *CPU) forgetData() {
	c.lookGen += 1 << 52
	if c.lookGen == 0 {
		c.lookGen = 1 << 52
		c.look = [looks]look{}
	}
}

// forgetAll empties the copies of all translations, after a change of rights or tables.
func (c *CPU) forgetAll() {
	c.forgetData()
	c.forgetFetch()
}

// Translate implements cpus.Probe.
func (c *CPU) Translate(va uint64) (uint64, bool) {
	if !c.canonical(va) {
		return 0, false
	}
	return c.tables.Peek(c.memory, c.cr3, va)
}
