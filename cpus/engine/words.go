package engine

import (
	"unsafe"

	"kprobesim/mmu"
)

// Several words at ascending addresses, which one instruction loads or stores. They are one access in time: a
// store of several has one number, whichever of its words a load finds. Addresses are multiples of four.

const wordBytes = uint64(unsafe.Sizeof(uint32(0)))

// LoadWords reads words, with the convention of Load. Of the stores that it finds it waits for the youngest.
func (c *Core) LoadWords(va uint64, words []uint32) bool {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	if e.read == va>>pageShift+c.microGen && off+wordBytes*uint64(len(words)) <= pageBytes {
		c.findYoungest(c.loadWords(e.base+off, words))
		return true
	}
	p, ok := c.wordPages(va, words, false)
	if !ok {
		return false
	}
	first, second := c.loadPart(p.va[0], p.pa[0], p.words[0]), c.loadPart(p.va[1], p.pa[1], p.words[1])
	if second.number > first.number {
		first = second
	}
	c.findYoungest(first)
	return true
}

// wordPages are words in one page, or in two.
type wordPages struct {
	words  [2][]uint32
	va, pa [2]uint64
}

// wordPages translates words, the second page before anything is accessed.
func (c *Core) wordPages(va uint64, words []uint32, write bool) (p wordPages, ok bool) {
	here := min((pageBytes-va&pageMask)/wordBytes, uint64(len(words)))
	p.words = [2][]uint32{words[:here], words[here:]}
	p.va = [2]uint64{va, (va&^pageMask + pageBytes) & c.AddrMask}
	for i, part := range p.words {
		if len(part) == 0 {
			continue
		}
		if p.pa[i], ok = c.translator.DataAddress(p.va[i], write); !ok {
			return p, false
		}
		if c.Watching && !c.translator.Watch(p.va[i], 4*len(part), write) {
			return p, false
		}
	}
	return p, true
}

// loadPart reads words of a page that has been translated, and returns the youngest store to any.
func (c *Core) loadPart(va, pa uint64, words []uint32) sentStore {
	switch {
	case len(words) == 0:
	case c.Memory.Holds(pa, 4*len(words)):
		c.noteRead(va, pa)
		return c.loadWords(pa, words)
	default:
		for i := range words {
			words[i] = uint32(c.loadDevice(pa+wordBytes*uint64(i), int(wordBytes)))
		}
	}
	return sentStore{}
}

// loadWords reads words from RAM, and returns the youngest store to any.
func (c *Core) loadWords(pa uint64, words []uint32) (youngest sentStore) {
	n := wordBytes * uint64(len(words))
	for line := pa &^ c.lineMask; line < pa+n; line += c.lineMask + 1 {
		if at := uint32(line >> (c.dShift & 63)); c.dRecent[at&c.dMask] != at+1 {
			c.missLoad(line)
		}
	}
	for i := range words {
		at := pa + wordBytes*uint64(i)
		words[i] = get[uint32](c.ram, at)
		if s := &c.sent[at>>2&(sentUnits-1)]; s.number > youngest.number && s.pa < at+wordBytes && at < s.end {
			youngest = sentStore{at, at + wordBytes, s.number}
		}
	}
	return youngest
}

// findYoungest notes that a load has found a store to one of its words.
func (c *Core) findYoungest(s sentStore) {
	if c.window && s.number != 0 {
		c.findStore(s.pa, wordBytes)
	}
}

// StoreWords writes words, with the convention of Store. Nothing is written when a page refuses.
func (c *Core) StoreWords(va uint64, words []uint32) bool {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	if e.write == va>>pageShift+c.microGen && off+wordBytes*uint64(len(words)) <= pageBytes {
		c.sequence++
		c.storeWords(e.base+off, words)
		return true
	}
	p, ok := c.wordPages(va, words, true)
	if !ok {
		return false
	}
	c.sequence++
	for i, part := range p.words {
		c.storePart(p.va[i], p.pa[i], part)
	}
	return true
}

// storePart writes words of a page that has been translated.
func (c *Core) storePart(va, pa uint64, words []uint32) {
	switch {
	case len(words) == 0:
	case c.Memory.Holds(pa, 4*len(words)):
		c.noteWrite(va, pa)
		c.storeWords(pa, words)
	default:
		for i, w := range words {
			c.StoreDevice(pa+wordBytes*uint64(i), int(wordBytes), uint64(w))
		}
	}
}

// storeWords writes words to RAM as parts of the last store by number.
func (c *Core) storeWords(pa uint64, words []uint32) {
	n := wordBytes * uint64(len(words))
	for line := pa &^ c.lineMask; line < pa+n; line += c.lineMask + 1 {
		if at := uint32(line >> (c.dShift & 63)); c.sRecent[at&c.dMask] != at+1 {
			c.missStore(line)
		}
	}
	for i, w := range words {
		at := pa + wordBytes*uint64(i)
		put(c.ram, at, w)
		if c.window {
			c.sent[at>>2&(sentUnits-1)] = sentStore{at, at + wordBytes, c.sequence}
		}
		if granule := at >> mmu.GranuleShift; c.codeMap[granule>>6]>>(granule&63)&1 != 0 {
			c.Memory.DropCode(at)
		}
	}
	if c.window {
		c.acc[c.idx&(accesses-1)].store = c.sequence
		c.sends |= 1 << (c.idx & 63)
	}
}
