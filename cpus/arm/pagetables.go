package arm

import (
	"encoding/binary"
	"fmt"

	"kprobesim/mmu"
)

// What a kernel is entered with: a first-level table and the second-level tables behind it. All pages are in
// domain 0, whose rights are checked.

// allClients is DACR with the rights of every domain checked.
const allClients = 0x55555555

const (
	firstBytes  = 16 << 10
	secondBytes = 1 << 10
)

// Bits of entries (ARM ARM, B3.5.1 and B3.5.2).
const (
	entryTable   = 1
	entrySection = 2
	entryPage    = 2

	sectionNever = 1 << 4
	sectionAP    = 10
	sectionAPX   = 1 << 15
	sectionLocal = 1 << 17
	pageNever    = 1 << 0
	pageAP       = 4
	pageAPX      = 1 << 9
	pageLocal    = 1 << 11

	cachedSection = 1<<12 | 1<<16 | 1<<3 | 1<<2 // normal memory, write-back, shared
	cachedPage    = 1<<6 | 1<<10 | 1<<3 | 1<<2
	device        = 1 << 2
)

// tableBuilder writes the tables.
type tableBuilder struct {
	m    *mmu.Memory
	root uint64
	next uint64 // of the second-level tables
}

// buildTables writes tables for maps behind physical address at and returns that of the first. It fails when
// they do not fit, when addresses are not on a boundary of a page, and when a page is mapped twice.
func buildTables(m *mmu.Memory, at uint64, maps []mmu.Mapping) (uint64, error) {
	at = (at + firstBytes - 1) &^ (firstBytes - 1)
	b := tableBuilder{m: m, root: at, next: at + firstBytes}
	if !m.Holds(at, firstBytes) {
		return 0, fmt.Errorf("a page table at %#x does not fit into RAM: give the guest more", at)
	}
	for i := uint64(0); i < firstBytes; i += 4 {
		b.put(at+i, 0)
	}
	for _, p := range maps {
		if err := b.add(p); err != nil {
			return 0, err
		}
	}
	return at, nil
}

func (b *tableBuilder) put(at uint64, v uint32) { b.m.Store(binary.LittleEndian, at, 4, uint64(v)) }
func (b *tableBuilder) get(at uint64) uint32    { return uint32(b.m.Load(binary.LittleEndian, at, 4)) }

// add maps a range: by sections where large pages are wanted, else by small pages.
func (b *tableBuilder) add(p mmu.Mapping) error {
	shift := uint8(smallPage)
	if p.Large {
		shift = section
	}
	page := uint64(1) << shift
	size := p.Size
	if size == 0 {
		size = uint64(b.m.Size())
	}
	if p.Limit != 0 {
		size = min(size, p.Limit)
	}
	if (p.VA|p.PA)&(page-1) != 0 {
		return fmt.Errorf("mapping of %#x to %#x: addresses of its pages are multiples of %#x", p.VA, p.PA, page)
	}
	if p.VA+size > 1<<32 || p.PA+size > 1<<32 {
		return fmt.Errorf("mapping of %#x: %#x bytes reach behind the address space", p.VA, size)
	}
	for off := uint64(0); off < size; off += page {
		var err error
		if p.Large {
			err = b.section(p.VA+off, uint32(p.PA+off)|sectionBits(p))
		} else {
			err = b.page(p.VA+off, uint32(p.PA+off)|pageBits(p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *tableBuilder) section(va uint64, e uint32) error {
	at := b.root + va>>section<<2
	if b.get(at) != 0 {
		return fmt.Errorf("%#x is mapped twice", va)
	}
	b.put(at, e)
	return nil
}

func (b *tableBuilder) page(va uint64, e uint32) error {
	at := b.root + va>>section<<2
	if b.get(at) == 0 {
		if !b.m.Holds(b.next, secondBytes) {
			return fmt.Errorf("a page table at %#x does not fit into RAM: give the guest more", b.next)
		}
		for i := uint64(0); i < secondBytes; i += 4 {
			b.put(b.next+i, 0)
		}
		b.put(at, uint32(b.next)|entryTable)
		b.next += secondBytes
	}
	first := b.get(at)
	if first&3 != entryTable {
		return fmt.Errorf("%#x is mapped twice", va)
	}
	at = uint64(first&^(secondBytes-1)) + va>>smallPage&0xff<<2
	if b.get(at) != 0 {
		return fmt.Errorf("%#x is mapped twice", va)
	}
	b.put(at, e)
	return nil
}

// accessBits are AP and APX of a mapping: who may read, and whether it may be written.
func accessBits(p mmu.Mapping) (ap uint32, readOnly bool) {
	switch {
	case p.User && p.Writable:
		return 3, false
	case p.User:
		return 3, true
	}
	return 1, !p.Writable
}

func sectionBits(p mmu.Mapping) uint32 {
	ap, readOnly := accessBits(p)
	return entrySection | ap<<sectionAP | attributes(p, readOnly, sectionAPX, sectionNever, sectionLocal, cachedSection)
}

func pageBits(p mmu.Mapping) uint32 {
	ap, readOnly := accessBits(p)
	return entryPage | ap<<pageAP | attributes(p, readOnly, pageAPX, pageNever, pageLocal, cachedPage)
}

func attributes(p mmu.Mapping, readOnly bool, apx, never, local, cached uint32) uint32 {
	var e uint32
	if readOnly {
		e |= apx
	}
	if !p.Exec {
		e |= never
	}
	if p.User {
		e |= local
	}
	if p.Uncached {
		return e | device
	}
	return e | cached
}
