package mmu

import (
	"fmt"
	"math/bits"
)

// TLBConfig describes a translation look-aside buffer with separate arrays for base and large pages.
type TLBConfig struct {
	Entries, Ways           int // base pages
	LargeEntries, LargeWays int // large pages
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

// Page is one translation, as a walk finds it and a TLB keeps it.
type Page struct {
	VA, PA   uint64 // first byte of the page
	Shift    uint8  // logarithm of its size: 12, 21 or 22
	Writable bool
	User     bool
	NX       bool
	Dirty    bool
	Global   bool
	Uncached bool
	valid    bool
}

// Offset translates va, which must lie in the page.
func (p *Page) Offset(va uint64) uint64 { return p.PA | va&(1<<p.Shift-1) }

// TLB caches translations. Replacement within a set is first in, first out: a hit changes no state,
// which lets a CPU keep a transparent copy of translations in front of it as long as it drops that
// copy when Generation changes.
type TLB struct {
	Generation   uint64 // changes whenever an entry is replaced or dropped
	small, large array
}

type array struct {
	pages []Page
	next  []uint8
	ways  uint64
	mask  uint64
	shift uint8
}

func newArray(entries, ways int, shift uint8) array {
	sets := entries / ways
	return array{make([]Page, entries), make([]uint8, sets), uint64(ways), uint64(sets - 1), shift}
}

// NewTLB returns an empty TLB; the description must have passed Check. largeShift is the logarithm of
// the large page size.
func NewTLB(tc TLBConfig, largeShift uint8) *TLB {
	return &TLB{small: newArray(tc.Entries, tc.Ways, 12), large: newArray(tc.LargeEntries, tc.LargeWays, largeShift)}
}

func (a *array) set(va uint64) uint64 { return va >> a.shift & a.mask }

func (a *array) find(va uint64) *Page {
	s := a.set(va) * a.ways
	base := va >> a.shift << a.shift
	for i := s; i < s+a.ways; i++ {
		if p := &a.pages[i]; p.valid && p.VA == base {
			return p
		}
	}
	return nil
}

// Find returns the cached translation of va, or nil.
func (t *TLB) Find(va uint64) *Page {
	if p := t.large.find(va); p != nil {
		return p
	}
	return t.small.find(va)
}

// Insert adds a translation and returns the entry that holds it.
func (t *TLB) Insert(p Page) *Page {
	a := &t.small
	if p.Shift != 12 {
		a = &t.large
	}
	p.valid = true
	if old := a.find(p.VA); old != nil {
		t.Generation++
		*old = p
		return old
	}
	s := a.set(p.VA)
	slot := &a.pages[s*a.ways+uint64(a.next[s])]
	a.next[s] = uint8((uint64(a.next[s]) + 1) % a.ways)
	if slot.valid {
		t.Generation++
	}
	*slot = p
	return slot
}

// Resize empties the TLB and changes the logarithm of the large page size.
func (t *TLB) Resize(largeShift uint8) {
	t.Flush(true)
	t.large.shift = largeShift
}

// Drop forgets the translation of va.
func (t *TLB) Drop(va uint64) {
	for _, a := range []*array{&t.small, &t.large} {
		if p := a.find(va); p != nil {
			p.valid = false
		}
	}
	t.Generation++
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
	t.Generation++
}
