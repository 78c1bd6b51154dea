package x86

import (
	"encoding/binary"

	"kprobesim/mmu"
)

// The three formats of page tables that the modes use (SDM vol. 3, chapter 4) are data to one
// walker. Paging structure caches are not modelled: a walk reads every level. Protection
// keys and 1 GiB pages are left out; the bit that asks for one of the last is reserved.

// access says what a translation is wanted for.
type access struct {
	write, user, exec bool
	protect           bool // CR0.WP: supervisor writes honour read-only pages
	noUserCode        bool // CR4.SMEP: the supervisor executes no page of user mode
	noUserData        bool // CR4.SMAP and no AC: nor does it read or write one
}

// right returns the right that the access needs of a page.
func (a access) right() mmu.Rights { return mmu.Right(a.write, a.exec, a.user) }

// crosses reports a supervisor's access to a page of user mode.
func (a access) crosses(p *mmu.Page) bool { return !a.user && p.Rights&mmu.UserRead != 0 }

// allowed reports whether the page may be accessed so.
func (a access) allowed(p *mmu.Page) bool {
	return p.Allows(a.right()) && !(a.noUserData && a.crosses(p))
}

// refusal is the reason a translation was refused, in the terms of the page-fault error code.
type refusal struct {
	present  bool // the page was there and its rights did not allow the access
	reserved bool // a reserved bit was set in an entry
}

// Bits of a page-table entry (SDM vol. 3, tables 4-5 to 4-20).
const (
	ptePresent  = 1 << 0
	pteWrite    = 1 << 1
	pteUser     = 1 << 2
	pteNoCache  = 1 << 4
	pteAccessed = 1 << 5
	pteDirty    = 1 << 6
	pteLarge    = 1 << 7
	pteGlobal   = 1 << 8
	pteNX       = 1 << 63

	pteFrame   = 0x000f_ffff_ffff_f000
	pteFrame32 = 0xffff_f000
)

// maxPhysBits are the bits of a physical address that page tables have room for (SDM vol. 3, 4.1.4).
const maxPhysBits = 52

// pageFormat is a layout of x86 page tables, as data. Large pages are mapped at level 1, the last
// level being 0.
type pageFormat struct {
	levels     int
	large      uint8 // logarithm of a large page; 0 when pteLarge has no meaning
	bits       uint8 // of an address, resolved at each level
	entry      int   // bytes
	frame      uint64
	nx         uint64 // pteNX where it forbids execution
	reserved   uint64 // bits that must be clear in every entry
	noLarge    uint64 // bits that must be clear above level 1
	lowLarge   uint64 // bits that must be clear where a large page is mapped
	loaded     *[4]uint64
	registers  bool   // the first level is read when CR3 is loaded and grants everything
	linearMask uint64 // of the addresses that the tables cover
}

// longFormat is the 4-level format of long mode (SDM vol. 3, 4.5), of a processor with physical
// addresses of some bits. Without EFER.NXE the bit that forbids execution is reserved.
func longFormat(nxe bool, bits uint8) pageFormat {
	f := pageFormat{
		levels: 4, large: 21, bits: 9, entry: 8, frame: pteFrame, nx: pteNX, noLarge: pteLarge,
		reserved: pteFrame &^ (1<<bits - 1), lowLarge: 0x1fe000,
		linearMask: 1<<48 - 1,
	}
	if !nxe {
		f.nx = 0
		f.reserved |= pteNX
	}
	return f
}

// paeFormat is the 3-level format of 32-bit mode with CR4.PAE (SDM vol. 3, 4.4). The four entries of
// the first level are registers of the processor, loaded with CR3: a walk neither reads them through
// the caches nor takes rights from them. Where loaded is nil they are read from memory.
func paeFormat(nxe bool, bits uint8) pageFormat {
	f := longFormat(nxe, bits)
	f.levels, f.noLarge, f.registers, f.linearMask = 3, 0, true, 1<<32-1
	f.reserved |= 0x7ff << 52
	f.reserved &^= f.nx
	return f
}

// registersAt reads the first level of PAE's tables. False is for a reserved bit (SDM vol. 3, table
// 4-8).
func (f pageFormat) registersAt(m *mmu.Memory, cr3 uint64) (loaded [4]uint64, ok bool) {
	for i := range loaded {
		e := f.load(m, f.root(cr3)+uint64(i)*8)
		if e&ptePresent != 0 && e&(f.reserved|pteNX|0x1e6) != 0 {
			return loaded, false
		}
		loaded[i] = e
	}
	return loaded, true
}

// legacyFormat is the 2-level format of 32-bit mode (SDM vol. 3, 4.3), with 4 MiB pages when
// CR4.PSE is set.
func legacyFormat(pse bool) pageFormat {
	f := pageFormat{levels: 2, bits: 10, entry: 4, frame: pteFrame32, lowLarge: 0x3fe000, linearMask: 1<<32 - 1}
	if pse {
		f.large = 22
	}
	return f
}

// forbidsExecution reports whether pages have the right to be executed apart from that to be read.
func (f *pageFormat) forbidsExecution() bool { return f.nx != 0 }

// at returns the address of the entry for va in the table of a level, and that entry's shift.
func (f *pageFormat) at(table, va uint64, level int) (at uint64, shift uint8) {
	shift = 12 + f.bits*uint8(level)
	return table + va&f.linearMask>>shift&(1<<f.bits-1)*uint64(f.entry), shift
}

// root returns the address of the first table: 32-byte aligned where its entries are registers.
func (f *pageFormat) root(cr3 uint64) uint64 {
	if f.registers {
		return cr3 & 0xffff_ffe0
	}
	return cr3 & f.frame
}

// leaf reports whether e maps a page at a level.
func (f *pageFormat) leaf(e uint64, level int) bool {
	return level == 0 || level == 1 && f.large != 0 && e&pteLarge != 0
}

// walk is one walk of the tables for an access to va.
type walk struct {
	f    *pageFormat
	m    *mmu.Memory
	va   uint64
	acc  access
	page mmu.Page
	refs mmu.Refs

	write, user, nx bool // what the levels so far grant, and forbid
}

// walk walks the tables at root (CR3) for va. It sets the accessed bits, and the dirty bit when the
// access is a write. Canonical form is the caller's to check.
func (f *pageFormat) walk(m *mmu.Memory, root, va uint64, acc access) (mmu.Page, mmu.Refs, *refusal) {
	w := walk{f: f, m: m, va: va, acc: acc, write: true, user: true}
	refused := w.run(f.root(root))
	return w.page, w.refs, refused
}

// run descends from the first table. The checks of an entry come in the manual's order: present,
// reserved bits, and rights at the end over all levels. Accessed bits are set on the way down, so
// that a walk which is refused lower down has set them, as hardware may (SDM vol. 3, 4.8).
func (w *walk) run(table uint64) *refusal {
	f := w.f
	for level := f.levels - 1; ; level-- {
		at, shift := f.at(table, w.va, level)
		e := f.load(w.m, at)
		register := f.registers && level == f.levels-1
		if register && f.loaded != nil {
			e = f.loaded[w.va>>shift&3]
		}
		if !register {
			w.refs.Add(at)
		}
		if e&ptePresent == 0 || !register && !w.m.Holds(at, f.entry) {
			return &refusal{}
		}
		if register {
			table = e & f.frame
			continue
		}
		w.write = w.write && e&pteWrite != 0
		w.user = w.user && e&pteUser != 0
		w.nx = w.nx || e&f.nx != 0
		leaf := f.leaf(e, level)
		if e&f.reserved != 0 || level > 1 && e&f.noLarge != 0 || leaf && level > 0 && e&f.lowLarge != 0 {
			return &refusal{present: true, reserved: true}
		}
		if leaf {
			return w.leaf(at, e, shift)
		}
		f.setBits(w.m, at, e, pteAccessed)
		table = e & f.frame
	}
}

// leaf ends a walk at the entry that maps a page.
func (w *walk) leaf(at, e uint64, shift uint8) *refusal {
	p := &w.page
	if p.Rights = w.rights(); !w.acc.allowed(p) {
		return &refusal{present: true}
	}
	set := uint64(pteAccessed)
	if w.acc.write {
		set |= pteDirty
	}
	w.f.setBits(w.m, at, e, set)
	size := uint64(1) << shift
	p.VA, p.PA, p.Shift = w.va&^(size-1), e&w.f.frame&^(size-1), shift
	p.Dirty = w.acc.write || e&pteDirty != 0
	p.Global = e&pteGlobal != 0
	return nil
}

// rights returns what the levels of the tables grant together (SDM vol. 3, 4.6): writing and user
// access must be granted by all, execution forbidden by none. A supervisor reads and executes
// whatever is present, and writes it too when CR0.WP is clear. With CR4.SMEP it executes no page of user mode.
func (w *walk) rights() mmu.Rights {
	r := mmu.Read
	for _, x := range [...]struct {
		granted bool
		right   mmu.Rights
	}{
		{w.write || !w.acc.protect, mmu.Write},
		{!w.nx && !(w.user && w.acc.noUserCode), mmu.Exec},
		{w.user, mmu.UserRead},
		{w.user && w.write, mmu.UserWrite},
		{w.user && !w.nx, mmu.UserExec},
	} {
		if x.granted {
			r |= x.right
		}
	}
	return r
}

// load reads an entry; outside RAM it is all ones.
func (f *pageFormat) load(m *mmu.Memory, at uint64) uint64 {
	return m.Load(binary.LittleEndian, at, f.entry)
}

func (f *pageFormat) store(m *mmu.Memory, at, e uint64) { m.Store(binary.LittleEndian, at, f.entry, e) }

// peek translates va without rights or side effects: for tools, breakpoints and calls from outside,
// which must not change what the guest sees.
func (f *pageFormat) peek(m *mmu.Memory, root, va uint64) (uint64, bool) {
	table := f.root(root)
	for level := f.levels - 1; ; level-- {
		at, shift := f.at(table, va, level)
		if !m.Holds(at, f.entry) {
			return 0, false
		}
		e := f.load(m, at)
		if f.loaded != nil && level == f.levels-1 {
			e = f.loaded[va>>shift&3]
		}
		if e&ptePresent == 0 || level > 1 && e&f.noLarge != 0 {
			return 0, false
		}
		if f.leaf(e, level) {
			size := uint64(1) << shift
			return e&f.frame&^(size-1) | va&(size-1), true
		}
		table = e & f.frame
	}
}

// setBits sets the bits of set in an entry, when they are not set: a store that changes nothing
// would look like a change of a table to those who watch stores.
func (f *pageFormat) setBits(m *mmu.Memory, at, e, set uint64) {
	if e&set != set {
		f.store(m, at, e|set)
	}
}
