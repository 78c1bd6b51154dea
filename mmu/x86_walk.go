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

// Bits of a long-mode page-table entry (SDM vol. 3, tables 4-15 to 4-20).
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

	pteFrame = 0x000f_ffff_ffff_f000
)

// Refs are the physical addresses of the entries that a walk read, for the caches.
type Refs struct {
	PA [4]uint64
	N  int
}

// WalkLong walks the 4-level tables at root (CR3) for va. It sets the accessed bits, and the dirty
// bit when the access is a write. Canonical form is the caller's to check.
func WalkLong(m *Memory, root, va uint64, acc Access) (Page, Refs, *Fault) {
	var refs Refs
	p := Page{Writable: true, User: true}
	table := root & pteFrame
	for level := 3; ; level-- {
		shift := uint8(12 + 9*level)
		at := table + va>>shift&511*8
		refs.PA[refs.N] = at
		refs.N++
		e := m.Load(at, 8)
		if e&PtePresent == 0 || !m.Holds(at, 8) {
			return p, refs, &Fault{}
		}
		p.Writable = p.Writable && e&PteWrite != 0
		p.User = p.User && e&PteUser != 0
		p.NX = p.NX || e&PteNX != 0
		if level > 1 && e&PteLarge != 0 {
			return p, refs, &Fault{Present: true, Reserved: true}
		}
		if level > 0 && e&PteLarge == 0 {
			setBits(m, at, e, PteAccessed)
			table = e & pteFrame
			continue
		}
		return leaf(m, p, refs, at, e, va, shift, acc)
	}
}

// leaf finishes a walk at the entry that maps a page.
func leaf(m *Memory, p Page, refs Refs, at, e, va uint64, shift uint8, acc Access) (Page, Refs, *Fault) {
	if !p.Allows(acc) {
		return p, refs, &Fault{Present: true}
	}
	set := uint64(PteAccessed)
	if acc.Write {
		set |= PteDirty
	}
	setBits(m, at, e, set)
	size := uint64(1) << shift
	p.VA, p.PA, p.Shift = va&^(size-1), e&pteFrame&^(size-1), shift
	p.Dirty = acc.Write || e&PteDirty != 0
	p.Global = e&PteGlobal != 0
	p.Uncached = e&PteNoCache != 0
	return p, refs, nil
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

func setBits(m *Memory, at, e, set uint64) {
	if e&set != set {
		m.Store(at, 8, e|set)
	}
}
