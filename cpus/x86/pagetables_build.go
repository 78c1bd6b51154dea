package x86

import (
	"fmt"

	"kprobesim/mmu"
)

// build writes tables for maps at physical address at and returns the root for CR3. It fails when
// they do not fit between at and the end of RAM, when a page is mapped twice, or when the format
// has no large pages and one is asked for.
func (f pageFormat) build(m *mmu.Memory, at uint64, maps []mmu.Mapping) (uint64, error) {
	b := builder{f: &f, m: m, next: at &^ 0xfff}
	root, err := b.table()
	if err != nil {
		return 0, err
	}
	for _, p := range maps {
		if p.Large && f.large == 0 {
			return 0, fmt.Errorf("mapping of %#x: this format of page tables has no large pages", p.VA)
		}
		if err := b.add(root, p); err != nil {
			return 0, err
		}
	}
	return root, nil
}

// builder hands out pages for tables. They are those behind the first address in order, so that the
// layout of memory is the same in every run.
type builder struct {
	f    *pageFormat
	m    *mmu.Memory
	next uint64
}

// table hands out the next page. RAM begins as zeroes, which is an empty table in all formats.
func (b *builder) table() (uint64, error) {
	t := b.next
	if !b.m.Holds(t, 0x1000) {
		return 0, fmt.Errorf("page tables do not fit into %d bytes of memory: give the machine more", b.m.Size())
	}
	b.next += 0x1000
	return t, nil
}

// add maps a range page by page. A range without a size is all of RAM: the kernel's direct map.
func (b *builder) add(root uint64, p mmu.Mapping) error {
	size, step, level := p.Size, uint64(0x1000), 0
	if size == 0 {
		size = uint64(b.m.Size())
	}
	if p.Limit != 0 {
		size = min(size, p.Limit)
	}
	if p.Large {
		step, level = 1<<b.f.large, 1
	}
	for off := uint64(0); off < size; off += step {
		if err := b.page(root, p, off, level); err != nil {
			return err
		}
	}
	return nil
}

// leafBits holds the bits of the entry that maps a page. Accessed and dirty are set, as in a kernel that
// has run for a while: the first accesses of a measurement would otherwise write tables. Kernel
// mappings do not change with the task and are global.
func (f *pageFormat) leafBits(p mmu.Mapping) uint64 {
	bits := uint64(ptePresent | pteAccessed | pteDirty | pteGlobal)
	for _, x := range [...]struct {
		set bool
		bit uint64
	}{{p.Large, pteLarge}, {p.Writable, pteWrite}, {!p.Exec, f.nx}, {p.Uncached, pteNoCache}, {p.User, pteUser}} {
		if x.set {
			bits |= x.bit
		}
	}
	return bits
}

// page maps the page at an offset of a range. A right must be granted at every level of the tables,
// and rights other than the user's are taken away at the last one.
func (b *builder) page(root uint64, p mmu.Mapping, off uint64, leaf int) error {
	t, va := root, p.VA+off
	for level := b.f.levels - 1; level > leaf; level-- {
		at, _ := b.f.at(t, va, level)
		e := b.f.load(b.m, at)
		if e&ptePresent == 0 {
			next, err := b.table()
			if err != nil {
				return err
			}
			e = next | ptePresent
			if !b.f.registers || level < b.f.levels-1 {
				e |= pteWrite | pteAccessed
			}
		}
		if b.f.leaf(e, level) {
			return fmt.Errorf("mapping of %#x: it lies in a large page", va)
		}
		if p.User && (!b.f.registers || level < b.f.levels-1) {
			e |= pteUser
		}
		b.f.store(b.m, at, e)
		t = e & b.f.frame
	}
	at, _ := b.f.at(t, va, leaf)
	if b.f.load(b.m, at)&ptePresent != 0 {
		return fmt.Errorf("mapping of %#x: it is mapped already", va)
	}
	b.f.store(b.m, at, (p.PA+off)|b.f.leafBits(p))
	return nil
}
