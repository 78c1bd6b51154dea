package x86

import (
	"bytes"

	"kprobesim/mmu"
)

// library holds the blocks that the CPUs of one machine have decoded, so that an instruction is decoded
// once and not once for every CPU. A CPU's own copy of a block shares the instructions and adds what is
// its own: links, and whether it is observed. Blocks with an instruction in two pages are not shared,
// because the second page is a matter of each CPU's translations.
//
// Probes write the same few things to the same places again and again. So the blocks of a line that is
// written are kept beside the bytes that they were decoded from, until those bytes come back.
type library struct {
	mem   *mmu.Memory
	pages []*[0x1000 / lineBytes]shelf
}

// shelf holds the blocks of one line: of its present bytes, and of some that it had before.
type shelf struct {
	now  *edition
	past [16]*edition
	next uint8 // place in past for the next one
}

// edition is the blocks of one line as its bytes were at a time.
type edition struct {
	codeLine
	bytes  [lineBytes + maxInsn - 1]byte // of the line and of the instruction that may reach behind it
	spills bool                          // a block reaches behind it
	mixed  bool                          // blocks were decoded from other bytes: it cannot be kept
}

func newLibrary(m *mmu.Memory) *library {
	l := &library{mem: m, pages: make([]*[0x1000 / lineBytes]shelf, m.Size()>>12)}
	m.OnCodeStore(l.drop)
	return l
}

// find returns the block that was decoded from the bytes at a physical address, or nil.
func (l *library) find(pa uint64) *block {
	page := l.pages[pa>>12]
	if page == nil {
		return nil
	}
	s := &page[pa&0xfff>>mmu.LineShift]
	if s.now == nil && !l.recall(s, pa) {
		return nil
	}
	return s.now.blocks[pa&(lineBytes-1)]
}

// recall finds the edition of a line's present bytes among the past ones.
func (l *library) recall(s *shelf, pa uint64) bool {
	line := pa &^ (lineBytes - 1)
	for i, e := range s.past {
		if e == nil || !bytes.Equal(e.bytes[:], l.mem.Bytes(line, len(e.bytes))) {
			continue
		}
		s.now, s.past[i] = e, nil
		l.mem.MarkCode(line)
		if e.spills {
			l.mem.MarkCode(line + lineBytes)
		}
		return true
	}
	return false
}

// put keeps a block that was decoded from the bytes at a physical address.
func (l *library) put(pa uint64, b *block) {
	page := &l.pages[pa>>12]
	if *page == nil {
		*page = new([0x1000 / lineBytes]shelf)
	}
	s := &(*page)[pa&0xfff>>mmu.LineShift]
	have := l.mem.Bytes(pa&^(lineBytes-1), lineBytes+maxInsn-1)
	if s.now == nil {
		s.now = &edition{mixed: have == nil}
		copy(s.now.bytes[:], have)
	}
	e := s.now
	e.codeLine.put(pa&(lineBytes-1), b)
	e.spills = e.spills || b.spill
	e.mixed = e.mixed || !bytes.Equal(e.bytes[:], have)
}

// drop puts the blocks that a store to pa may have changed aside, those that CPU.dropCode forgets.
func (l *library) drop(pa uint64) {
	for _, at := range [...]uint64{pa, pa - lineBytes} {
		if at>>12 >= uint64(len(l.pages)) || l.pages[at>>12] == nil {
			continue
		}
		s := &l.pages[at>>12][at&0xfff>>mmu.LineShift]
		if s.now != nil && !s.now.mixed {
			s.past[s.next] = s.now
			s.next = (s.next + 1) % uint8(len(s.past))
		}
		s.now = nil
	}
}

// blockAt returns a new block at pc, decoded here or by another CPU, or nil with an exception pending.
func (c *CPU) blockAt(pc, pa uint64) *block {
	if c.library == nil {
		return c.decodeBlock(pc, pa)
	}
	known := c.library.find(pa)
	if known == nil || known.pc != pc {
		if known = c.decodeBlock(pc, pa); known == nil || known.tail != nil {
			return known
		}
		c.library.put(pa, known)
	}
	b := *known
	b.watched = c.watches(b.pc, b.end)
	return &b
}
