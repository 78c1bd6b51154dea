package x86

import "kprobesim/mmu"

// library holds the blocks that the CPUs of one machine have decoded, so that an instruction is decoded
// once and not once for every CPU. A CPU's own copy of a block shares the instructions and adds what is
// its own: links, and whether it is observed. Blocks with an instruction in two pages are not shared,
// because the second page is a matter of each CPU's translations.
type library struct{ pages []*codePage }

func newLibrary(m *mmu.Memory) *library {
	l := &library{pages: make([]*codePage, m.Size()>>12)}
	m.OnCodeStore(l.drop)
	return l
}

// place is where the block at a physical address is kept.
func (l *library) place(pa uint64) **block {
	page := &l.pages[pa>>12]
	if *page == nil {
		*page = new(codePage)
	}
	line := &(*page).lines[pa&0xfff>>mmu.LineShift]
	if *line == nil {
		*line = new(codeLine)
	}
	return &(*line).blocks[pa&(lineBytes-1)]
}

// drop forgets the blocks that a store to pa may have changed, as CPU.dropCode does.
func (l *library) drop(pa uint64) {
	for _, at := range [...]uint64{pa, pa - lineBytes} {
		if at>>12 < uint64(len(l.pages)) && l.pages[at>>12] != nil {
			l.pages[at>>12].lines[at&0xfff>>mmu.LineShift] = nil
		}
	}
}

// blockAt returns a new block at pc, decoded here or by another CPU, or nil with an exception pending.
func (c *CPU) blockAt(pc, pa uint64) *block {
	if c.library == nil {
		return c.decodeBlock(pc, pa)
	}
	if known := *c.library.place(pa); known != nil && known.pc == pc {
		b := *known
		b.links = [2]link{}
		b.watched = c.watches(b.pc, b.end)
		return &b
	}
	b := c.decodeBlock(pc, pa)
	if b != nil && b.tail == nil {
		*c.library.place(pa) = b
	}
	return b
}
