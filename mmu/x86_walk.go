package mmu

// Access says what a translation is wanted for.
type Access struct {
	Write, User, Exec bool
	Protect           bool // CR0.WP: supervisor writes honour read-only pages
}

// Fault is the reason a translation was refused, in the terms of the x86 page-fault error code.
type Fault struct {
	Present  bool // the page was there and its rights did not allow the access
	Reserved bool // a reserved bit was set in an entry
}

// Bits of a page-table entry (SDM vol. 3, tables 4-5 to 4-20).
const (
	PtePresent  = 1 << 0
	PteWrite    = 1 << 1
	PteUser     = 1 << 2
	PteNoCache  = 1 << 4
	PteAccessed = 1 << 5
	PteDirty    = 1 << 6
	PteLarge    = 1 << 7
	PteGlobal   = 1 << 8
	PteNX       = 1 << 63

	pteFrame   = 0x000f_ffff_ffff_f000
	pteFrame32 = 0xffff_f000
)

// Refs are the physical addresses of the entries that a walk read, for the caches.
type Refs struct {
	PA [4]uint64
	N  int
}

// PageFormat is a layout of x86 page tables, as data. Large pages are mapped at level 1, the last
// level being 0.
type PageFormat struct {
	levels     int
	Large      uint8 // logarithm of a large page; 0 when PteLarge has no meaning
	bits       uint8 // of an address, resolved at each level
	entry      int   // bytes
	frame      uint64
	nx         uint64 // PteNX where it forbids execution
	reserved   uint64 // bits that must be clear in every entry
	noLarge    uint64 // bits that must be clear above level 1
	registers  bool   // the first level is read when CR3 is loaded and grants everything
	linearMask uint64 // of the addresses that the tables cover
}

// Long is the 4-level format of long mode (SDM vol. 3, 4.5).
func Long() PageFormat {
	return PageFormat{
		levels: 4, Large: 21, bits: 9, entry: 8, frame: pteFrame, nx: PteNX, noLarge: PteLarge, linearMask: 1<<48 - 1,
	}
}

// PAE is the 3-level format of 32-bit mode with CR4.PAE (SDM vol. 3, 4.4). Without EFER.NXE the
// bit that forbids execution is reserved. The four entries of the first level are registers of the
// processor: a walk neither reads them through the caches nor takes rights from them. They are looked
// at in memory here, so a change is seen before CR3 is loaded again.
func PAE(nxe bool) PageFormat {
	f := PageFormat{
		levels: 3, Large: 21, bits: 9, entry: 8, frame: pteFrame, reserved: PteNX, registers: true, linearMask: 1<<32 - 1,
	}
	if nxe {
		f.nx, f.reserved = PteNX, 0
	}
	return f
}

// Legacy is the 2-level format of 32-bit mode (SDM vol. 3, 4.3), with 4 MiB pages when CR4.PSE is set.
func Legacy(pse bool) PageFormat {
	f := PageFormat{levels: 2, bits: 10, entry: 4, frame: pteFrame32, linearMask: 1<<32 - 1}
	if pse {
		f.Large = 22
	}
	return f
}

// ForbidsExecution reports whether pages have the right to be executed apart from that to be read.
func (f *PageFormat) ForbidsExecution() bool { return f.nx != 0 }

// at returns the address of the entry for va in the table of a level, and that entry's shift.
func (f *PageFormat) at(table, va uint64, level int) (at uint64, shift uint8) {
	shift = 12 + f.bits*uint8(level)
	return table + va&f.linearMask>>shift&(1<<f.bits-1)*uint64(f.entry), shift
}

// root returns the address of the first table: 32-byte aligned where its entries are registers.
func (f *PageFormat) root(cr3 uint64) uint64 {
	if f.registers {
		return cr3 & 0xffff_ffe0
	}
	return cr3 & f.frame
}

// leaf reports whether e maps a page at a level.
func (f *PageFormat) leaf(e uint64, level int) bool {
	return level == 0 || level == 1 && f.Large != 0 && e&PteLarge != 0
}

// Walk walks the tables at root (CR3) for va. It sets the accessed bits, and the dirty bit when the
// access is a write. Canonical form is the caller's to check.
func (f *PageFormat) Walk(m *Memory, root, va uint64, acc Access) (Page, Refs, *Fault) {
	var refs Refs
	p := Page{Writable: true, User: true}
	table := f.root(root)
	for level := f.levels - 1; ; level-- {
		at, shift := f.at(table, va, level)
		e := m.Load(at, f.entry)
		if f.registers && level == f.levels-1 {
			if e&PtePresent == 0 || !m.Holds(at, f.entry) {
				return p, refs, &Fault{}
			}
			table = e & f.frame
			continue
		}
		refs.PA[refs.N] = at
		refs.N++
		if e&PtePresent == 0 || !m.Holds(at, f.entry) {
			return p, refs, &Fault{}
		}
		p.Writable = p.Writable && e&PteWrite != 0
		p.User = p.User && e&PteUser != 0
		p.NX = p.NX || e&f.nx != 0
		if e&f.reserved != 0 || level > 1 && e&f.noLarge != 0 {
			return p, refs, &Fault{Present: true, Reserved: true}
		}
		if !f.leaf(e, level) {
			f.setBits(m, at, e, PteAccessed)
			table = e & f.frame
			continue
		}
		return f.finish(m, p, refs, at, e, va, shift, acc)
	}
}

// finish ends a walk at the entry that maps a page.
func (f *PageFormat) finish(m *Memory, p Page, refs Refs, at, e, va uint64, shift uint8, acc Access) (Page, Refs, *Fault) {
	if !p.Allows(acc) {
		return p, refs, &Fault{Present: true}
	}
	set := uint64(PteAccessed)
	if acc.Write {
		set |= PteDirty
	}
	f.setBits(m, at, e, set)
	size := uint64(1) << shift
	p.VA, p.PA, p.Shift = va&^(size-1), e&f.frame&^(size-1), shift
	p.Dirty = acc.Write || e&PteDirty != 0
	p.Global = e&PteGlobal != 0
	p.Uncached = e&PteNoCache != 0
	return p, refs, nil
}

// Peek translates va without rights or side effects.
func (f *PageFormat) Peek(m *Memory, root, va uint64) (uint64, bool) {
	table := f.root(root)
	for level := f.levels - 1; ; level-- {
		at, shift := f.at(table, va, level)
		if !m.Holds(at, f.entry) {
			return 0, false
		}
		e := m.entry(at, f.entry)
		if e&PtePresent == 0 || level > 1 && e&f.noLarge != 0 {
			return 0, false
		}
		if f.leaf(e, level) {
			size := uint64(1) << shift
			return e&f.frame&^(size-1) | va&(size-1), true
		}
		table = e & f.frame
	}
}

// Allows reports whether the rights of the page admit an access.
func (p *Page) Allows(acc Access) bool {
	switch {
	case acc.User && !p.User:
		return false
	case acc.Exec && p.NX:
		return false
	case acc.Write && !p.Writable:
		return !acc.User && !acc.Protect
	}
	return true
}

func (f *PageFormat) setBits(m *Memory, at, e, set uint64) {
	if e&set != set {
		m.Store(at, f.entry, e|set)
	}
}
