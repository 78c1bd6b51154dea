package ppc64

import (
	"encoding/binary"
	"fmt"

	"kprobesim/mmu"
)

// What a kernel is entered with: a hashed page table, and behind it the list of the segments that its
// addresses are in, which CPUs load at reset. A list entry is a pair of doublewords in the layout of
// slbmte; the first that is not valid ends it.

// tableBuilder writes them.
type tableBuilder struct {
	m    *mmu.Memory
	sdr1 uint64
	segs []slbEntry
}

// buildTables writes tables for maps behind physical address at and returns the value of SDR1. It fails
// when they do not fit, when there are more segments than a CPU holds, when a segment would have
// pages of both sizes, and when a large page is not aligned.
//
// Pages that user mode may not reach are protected by the segment's key. Where such a page is read-only,
// the architecture of this version lets user mode read it too.
func buildTables(m *mmu.Memory, at uint64, maps []mmu.Mapping) (uint64, error) {
	pages := 0
	for _, p := range maps {
		pages += int(span(m, p) >> pageShift(p))
	}
	size := uint64(0)
	for 1<<(groupsMin+size)*groupPTEs < 2*pages {
		size++
	}
	bytes := uint64(group) << (groupsMin + size)
	at = (at + bytes - 1) &^ (bytes - 1)
	if !m.Holds(at, int(bytes)+16*(slbEntries+1)) {
		return 0, fmt.Errorf("a page table of %#x bytes at %#x does not fit into RAM: give the guest more", bytes, at)
	}
	b := tableBuilder{m: m, sdr1: at | size}
	for i, p := range maps {
		for _, q := range maps[:i] {
			if p.VA-q.VA < span(m, q) || q.VA-p.VA < span(m, p) {
				return 0, fmt.Errorf("%#x is mapped twice", max(p.VA, q.VA))
			}
		}
		if err := b.add(p); err != nil {
			return 0, err
		}
	}
	b.list(at + bytes)
	return b.sdr1, nil
}

// span is the length of a mapping in bytes, in whole pages.
func span(m *mmu.Memory, p mmu.Mapping) uint64 {
	size := p.Size
	if size == 0 {
		size = uint64(m.Size())
	}
	if p.Limit != 0 {
		size = min(size, p.Limit)
	}
	page := uint64(1) << pageShift(p)
	return (size + page - 1) &^ (page - 1)
}

func pageShift(p mmu.Mapping) uint8 {
	if p.Large {
		return largePage
	}
	return basePage
}

// add maps a range page by page.
func (b *tableBuilder) add(p mmu.Mapping) error {
	page := uint64(1) << pageShift(p)
	if (p.VA|p.PA)&(page-1) != 0 {
		return fmt.Errorf("mapping of %#x to %#x: addresses of its pages are multiples of %#x", p.VA, p.PA, page)
	}
	for off := uint64(0); off < span(b.m, p); off += page {
		s, err := b.segment(p.VA+off, p.Large)
		if err != nil {
			return err
		}
		w := hashWalk{m: b.m, sdr1: b.sdr1, s: s, ea: p.VA + off}
		if !b.insert(&w, entryBits(p)|(p.PA+off)) {
			return fmt.Errorf("mapping of %#x: both groups of the page table are full", p.VA+off)
		}
	}
	return nil
}

// entryBits are the attributes of a mapping's pages. They are referenced and changed, as in a kernel that has
// run for a while: the first accesses of a measurement would otherwise write the table.
func entryBits(p mmu.Mapping) uint64 {
	pp := uint64(3)
	switch {
	case p.Writable && p.User:
		pp = 2
	case p.Writable:
		pp = 0
	}
	if !p.Exec {
		pp |= pteNoExecute
	}
	if p.Uncached {
		pp |= pteInhibited | pteGuarded
	}
	return pp | pteReferenced | pteChanged
}

// segment returns the entry of an address's segment. Segments are numbered as they come.
func (b *tableBuilder) segment(va uint64, large bool) (*slbEntry, error) {
	for i := range b.segs {
		if s := &b.segs[i]; s.covers(va) {
			if (s.vsid&slbL != 0) != large {
				return nil, fmt.Errorf("mapping of %#x: its segment has pages of the other size", va)
			}
			return s, nil
		}
	}
	if len(b.segs) == slbEntries {
		return nil, fmt.Errorf("mapping of %#x: there are more than %d segments", va, slbEntries)
	}
	s := slbEntry{va&slbESID | slbValid, uint64(len(b.segs)+1)<<12 | slbKp}
	if large {
		s.vsid |= slbL
	}
	b.segs = append(b.segs, s)
	return &b.segs[len(b.segs)-1], nil
}

// insert writes an entry into a free place of the primary group, or of the secondary one.
func (b *tableBuilder) insert(w *hashWalk, bits uint64) bool {
	first := w.avpn()<<pteAVPN | pteValid
	if w.large() {
		first |= pteLarge
	}
	hash := w.hash()
	for _, h := range [...]uint64{0, pteSecondary} {
		at := groupAt(b.sdr1, hash)
		for i := range uint64(groupPTEs) {
			if b.m.Load(binary.BigEndian, at+i*pteBytes, 8)&pteValid == 0 {
				b.m.Store(binary.BigEndian, at+i*pteBytes+8, 8, bits)
				b.m.Store(binary.BigEndian, at+i*pteBytes, 8, first|h)
				return true
			}
		}
		hash = ^hash
	}
	return false
}

// list writes the segments.
func (b *tableBuilder) list(at uint64) {
	for _, s := range b.segs {
		b.m.Store(binary.BigEndian, at, 8, s.esid)
		b.m.Store(binary.BigEndian, at+8, 8, s.vsid)
		at += 16
	}
	b.m.Store(binary.BigEndian, at, 8, 0)
}

// loadSegments fills the segment look-aside buffer from the list behind the page table.
func (c *CPU) loadSegments() {
	c.slb = [slbEntries]slbEntry{}
	at := c.sdr1&sdrOrigin + group<<(groupsMin+c.sdr1&sdrSize)
	for i := range c.slb {
		if c.sdr1 == 0 || !c.Memory.Holds(at, 16) {
			return
		}
		s := slbEntry{c.Memory.Load(binary.BigEndian, at, 8), c.Memory.Load(binary.BigEndian, at+8, 8)}
		if s.esid&slbValid == 0 {
			return
		}
		c.slb[i], at = s, at+16
	}
}
