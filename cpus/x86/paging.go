package x86

import "kprobesim/mmu"

// Control register bits (SDM vol. 3, 2.5). Those of x87, caching and alignment are kept and have no
// effect; reserved bits of CR4 are not checked.
const (
	cr0PE = 1 << 0
	cr0TS = 1 << 3
	cr0ET = 1 << 4
	cr0NE = 1 << 5
	cr0WP = 1 << 16
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

// canonical reports whether the bits above 47 repeat it (SDM vol. 1, 3.3.7.1). 57-bit addresses are
// not modelled.
func canonical(va uint64) bool { return uint64(int64(va<<16)>>16) == va }

// canonical reports an address that can be translated: in 32-bit mode one of 32 bits, the others
// lying beyond the limit of every segment.
func (c *CPU) canonical(va uint64) bool { return canonical(va) && va&^c.AddrMask == 0 }

// DataAddress implements engine.Translator. It is asked when no micro-TLB entry answers. WP makes a
// supervisor's write to a page that is read-only for it fault (SDM vol. 3, 4.6); SMEP and SMAP are
// not modelled.
func (c *CPU) DataAddress(va uint64, write bool) (uint64, bool) {
	p := c.page(c.DTLB, va, access{write: write, user: c.User, protect: c.cr0&cr0WP != 0})
	if p == nil {
		return 0, false
	}
	return p.Offset(va), true
}

// CodeAddress implements engine.Decoder.
func (c *CPU) CodeAddress(va uint64) (uint64, bool) {
	p := c.page(c.ITLB, va, access{exec: true, user: c.User})
	if p == nil {
		return 0, false
	}
	return p.Offset(va), true
}

// page translates through a TLB or by a walk. It returns nil with the exception pending when the
// access is refused. A TLB entry never causes a page fault: when its rights do not suffice it is
// dropped and the tables are walked, since they may permit more by now (SDM vol. 3, 4.10.4.3). A
// first write to a page has to set the dirty bit, which takes a walk too.
func (c *CPU) page(t *mmu.TLB, va uint64, acc access) *mmu.Page {
	if !c.canonical(va) {
		c.raiseCode(vecGP, 0)
		c.fault.address = !acc.exec
		return nil
	}
	p := c.FindPage(t, va, acc.exec)
	if p != nil && (!p.Allows(acc.right()) || acc.write && !p.Dirty) {
		t.Drop(va)
		p = nil
	}
	if p == nil {
		p = c.walk(t, va, acc)
	}
	c.Refilled()
	return p
}

// walk fills a TLB from the page tables and charges the reads of the walker.
func (c *CPU) walk(t *mmu.TLB, va uint64, acc access) *mmu.Page {
	found, refs, refused := c.tables.walk(c.Memory, c.cr3, va, acc)
	c.ChargeWalk(&refs, acc.exec)
	if refused != nil {
		c.pageFault(va, acc, refused)
		return nil
	}
	return t.Insert(found)
}

// NoCode implements engine.Decoder: nobody answers a fetch outside of RAM.
func (c *CPU) NoCode() { c.raiseCode(vecGP, 0) }

// pageFault raises #PF with the address in CR2 and the access in the error code (SDM vol. 3, 4.7).
// The bit of fetches is reported when pages can forbid execution: in 32-bit mode without PAE it
// stays clear.
func (c *CPU) pageFault(va uint64, acc access, f *refusal) {
	var code uint32
	for _, b := range [...]struct {
		set bool
		bit uint32
	}{
		{f.present, pfPresent},
		{acc.write, pfWrite},
		{acc.user, pfUser},
		{f.reserved, pfReserved},
		{acc.exec && c.tables.forbidsExecution(), pfFetch},
	} {
		if b.set {
			code |= b.bit
		}
	}
	c.cr2 = va
	c.raiseCode(vecPF, code)
}

// Translate implements cpus.Probe. Tables are read as they are in memory, past the TLBs.
func (c *CPU) Translate(va uint64) (uint64, bool) {
	if !c.canonical(va) {
		return 0, false
	}
	return c.tables.peek(c.Memory, c.cr3, va)
}
