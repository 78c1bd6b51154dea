package mmu

import (
	"fmt"
	"math/bits"
	"slices"
)

// TLBConfig describes a translation look-aside buffer with separate arrays for base and large pages.
type TLBConfig struct {
	Entries, Ways           int // base pages
	LargeEntries, LargeWays int // pages of all larger sizes
}

// Check reports what is wrong with a description, or nil.
func (tc TLBConfig) Check() error {
	for _, p := range [][2]int{{tc.Entries, tc.Ways}, {tc.LargeEntries, tc.LargeWays}} {
		if p[1] < 1 || p[0] < p[1] || p[0] > 1<<16 || p[0]%p[1] != 0 || bits.OnesCount(uint(p[0]/p[1])) != 1 {
			return fmt.Errorf("%d entries in %d ways: entries must be ways times a power of two", p[0], p[1])
		}
	}
	return nil
}

// Rights say what a page allows, apart for the supervisor and for user mode. What a right depends on
// beside the page's entry (a control register, a protection key, a domain) is looked at when a walk makes
// the entry, so a change of it is followed by a flush of the TLB.
type Rights uint8

// Rights of a page.
const (
	Read Rights = 1 << iota
	Write
	Exec
	UserRead
	UserWrite
	UserExec
)

// Right returns the right that an access needs.
func Right(write, exec, user bool) Rights {
	r := Read
	switch {
	case exec:
		r = Exec
	case write:
		r = Write
	}
	if user {
		r <<= 3
	}
	return r
}

// Page is one translation, as a walk finds it and a TLB keeps it.
type Page struct {
	VA, PA uint64 // first byte of the page
	Space  uint32 // tag of the address space, which global pages have not
	Shift  uint8  // logarithm of its size
	Rights Rights
	Dirty  bool // a store needs no walk to note it
	Global bool // valid in every address space
	valid  bool
}

// Offset translates va, which must lie in the page.
func (p *Page) Offset(va uint64) uint64 { return p.PA | va&(1<<p.Shift-1) }

// Allows reports whether the page gives a right.
func (p *Page) Allows(r Rights) bool { return p.Rights&r != 0 }

// PageSizes are the logarithms of the sizes of pages in use, the smallest first.
type PageSizes []uint8

// TLB caches translations. Replacement within a set is first in, first out: a hit changes no state,
// which lets a CPU keep micro-TLB entries in front of it as long as it drops them when Generation changes.
type TLB struct {
	Generation   uint64 // changes whenever an entry is replaced or dropped, and with Space
	out          Page   `state:"-"` // the last entry that was replaced
	behind       *TLB   // a larger one, which others may share; or nil
	space        uint32
	small, large array
}

// array is a set-associative array of translations of some page sizes. A page's set is chosen by its
// number.
type array struct {
	pages []Page
	next  []uint8
	ways  uint64
	mask  uint64
	sizes PageSizes
}

func newArray(entries, ways int, sizes PageSizes) array {
	sets := entries / ways
	return array{make([]Page, entries), make([]uint8, sets), uint64(ways), uint64(sets - 1), sizes}
}

// NewTLB returns an empty TLB; the description must have passed Check. Pages of the first size go to the
// array of base pages, all others to the array of large pages.
func NewTLB(tc TLBConfig, sizes PageSizes) *TLB {
	return &TLB{
		small: newArray(tc.Entries, tc.Ways, sizes[:1]),
		large: newArray(tc.LargeEntries, tc.LargeWays, sizes[1:]),
	}
}

// Back puts a larger TLB behind this one. What is dropped here is dropped there, and what a walk finds goes to
// both.
func (t *TLB) Back(behind *TLB) { t.behind = behind }

// Out returns the page whose entry was replaced when Generation changed last, or one of all addresses where entries were
// dropped.
func (t *TLB) Out() *Page { return &t.out }

// set returns the first entry of the set of a page.
func (a *array) set(va uint64, shift uint8) uint64 { return va >> shift & a.mask * a.ways }

func (a *array) find(va uint64, space uint32) *Page {
	for _, shift := range a.sizes {
		s, base := a.set(va, shift), va>>shift<<shift
		for i := s; i < s+a.ways; i++ {
			if p := &a.pages[i]; p.valid && p.VA == base && p.Shift == shift && (p.Space == space || p.Global) {
				return p
			}
		}
	}
	return nil
}

// Find returns the cached translation of va, or nil.
func (t *TLB) Find(va uint64) *Page {
	if p := t.large.find(va, t.space); p != nil {
		return p
	}
	return t.small.find(va, t.space)
}

// Spans reports whether the translation of a large page, of any address space, has both of two physical addresses.
func (t *TLB) Spans(a, b uint64) bool {
	return slices.ContainsFunc(t.large.pages, func(p Page) bool { return p.valid && p.PA>>p.Shift == a>>p.Shift && p.PA>>p.Shift == b>>p.Shift })
}

// FindBehind returns the translation of va that the TLB behind this one has, or nil, and keeps it here.
func (t *TLB) FindBehind(va uint64) *Page {
	if t.behind == nil {
		return nil
	}
	t.behind.space = t.space
	p := t.behind.Find(va)
	if p == nil {
		return nil
	}
	return t.insert(*p)
}

// Insert adds a translation in the present address space and returns the entry that holds it.
func (t *TLB) Insert(p Page) *Page {
	if t.behind != nil {
		t.behind.space = t.space
		t.behind.insert(p)
	}
	return t.insert(p)
}

func (t *TLB) insert(p Page) *Page {
	a := &t.small
	if p.Shift != t.small.sizes[0] {
		a = &t.large
	}
	p.valid, p.Space = true, t.space
	if old := a.find(p.VA, t.space); old != nil {
		t.Generation++
		t.out = *old
		*old = p
		return old
	}
	s := a.set(p.VA, p.Shift)
	next := &a.next[s/a.ways]
	slot := &a.pages[s+uint64(*next)]
	*next = uint8((uint64(*next) + 1) % a.ways)
	if slot.valid {
		t.Generation++
		t.out = *slot
	}
	*slot = p
	return slot
}

// forgot notes that entries were dropped.
func (t *TLB) forgot() {
	t.Generation++
	t.out = Page{Shift: 64}
}

// Switch changes the address space whose translations are found. Translations of others stay.
func (t *TLB) Switch(space uint32) {
	if space != t.space {
		t.space = space
		t.forgot()
	}
}

// Resize empties the TLB and changes the page sizes.
func (t *TLB) Resize(sizes PageSizes) {
	t.Flush(true)
	if t.behind != nil {
		t.behind.Resize(sizes)
	}
	t.small.sizes, t.large.sizes = sizes[:1], sizes[1:]
}

// Drop forgets the translation of va, and reports whether it was in this TLB itself. If not, nobody has a copy of it.
func (t *TLB) Drop(va uint64) (had bool) {
	for _, a := range [...]*array{&t.small, &t.large} {
		for p := a.find(va, t.space); p != nil; p = a.find(va, t.space) { // a page may have become a global one
			p.valid, had = false, true
		}
	}
	if had {
		t.forgot()
	}
	if t.behind != nil {
		t.behind.space = t.space
		t.behind.Drop(va)
	}
	return had
}

// DropIf forgets the translations of which a function says so.
func (t *TLB) DropIf(match func(p *Page) bool) {
	for _, a := range []*array{&t.small, &t.large} {
		for i := range a.pages {
			if p := &a.pages[i]; p.valid && match(p) {
				p.valid = false
			}
		}
	}
	t.forgot()
	if t.behind != nil {
		t.behind.DropIf(match)
	}
}

// Flush forgets every translation, global ones only when all is set.
func (t *TLB) Flush(all bool) {
	for _, a := range []*array{&t.small, &t.large} {
		for i := range a.pages {
			if all || !a.pages[i].Global {
				a.pages[i].valid = false
			}
		}
	}
	t.forgot()
	if t.behind != nil {
		t.behind.Flush(all)
	}
}
