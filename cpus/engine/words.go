package engine

import (
	"encoding/binary"
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
	if n := wordBytes * uint64(len(words)); e.read == va>>pageShift+c.microGen && off+n <= pageBytes {
		c.loadWords(e.base+off, words)
		if c.window && c.storesMatter() {
			c.findAmong(e.base+off, n)
		}
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
		if !c.allows(p.va[i], 4*len(part), write) {
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
		c.bufferLoad(pa, 4*len(words))
		c.loadWords(pa, words)
		return c.youngest(pa, wordBytes*uint64(len(words)))
	default:
		for i := range words {
			words[i] = uint32(c.loadDevice(pa+wordBytes*uint64(i), int(wordBytes)))
		}
	}
	return sentStore{}
}

// loadWords reads words from RAM.
func (c *Core) loadWords(pa uint64, words []uint32) {
	n := wordBytes * uint64(len(words))
	if at := uint32(pa >> (c.dShift & 63)); pa&c.lineMask+n > c.lineMask+1 || c.dRecent[at&c.dMask] != at+1 {
		c.loadLines(pa, n)
	}
	from := c.ram[pa : pa+n]
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(from)
		from = from[wordBytes:]
	}
}

// loadLines sends a load of n bytes through the caches, line by line.
func (c *Core) loadLines(pa, n uint64) {
	for line := pa &^ c.lineMask; line < pa+n; line += c.lineMask + 1 {
		if at := uint32(line >> (c.dShift & 63)); c.dRecent[at&c.dMask] != at+1 {
			c.missLoad(line)
		}
	}
}

// findAmong is findStore of words of n bytes, of which the youngest store counts.
func (c *Core) findAmong(pa, n uint64) {
	sent, number, where := &c.sent, uint64(0), uint64(0)
	for at := pa; at < pa+n; at += wordBytes {
		if by := sent[at>>2&(sentUnits-1)].number; by > number {
			number, where = by, at
		}
	}
	if int64(number-c.placed+c.live) <= 0 {
		return // what is older is in the cache
	}
	if s := &sent[where>>2&(sentUnits-1)]; s.pa < where+wordBytes && where < s.end {
		c.findStore(where, wordBytes)
		return
	}
	c.findYoungest(c.youngest(pa, n))
}

// youngest returns the youngest store to any of the words of n bytes.
func (c *Core) youngest(pa, n uint64) (youngest sentStore) {
	for at := pa; at < pa+n; at += wordBytes {
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
	if at := uint32(pa >> (c.dShift & 63)); pa&c.lineMask+n > c.lineMask+1 || c.sRecent[at&c.dMask] != at+1 {
		c.storeLines(pa, n)
	}
	if c.buffer != nil {
		for i, w := range words {
			c.buffer.Store(pa+wordBytes*uint64(i), uint64(w), int(wordBytes))
		}
		return
	}
	to := c.ram[pa : pa+n]
	for _, w := range words {
		binary.LittleEndian.PutUint32(to, w)
		to = to[wordBytes:]
	}
	if c.window {
		sent, number := &c.sent, c.sequence
		for at := pa; at < pa+n; at += wordBytes {
			sent[at>>2&(sentUnits-1)] = sentStore{at, at + wordBytes, number}
		}
		c.acc[c.idx&(accesses-1)].store = number
		c.sends |= 1 << (c.idx & 63)
	}
	first, last := pa>>mmu.GranuleShift, (pa+n-1)>>mmu.GranuleShift
	for ; first <= last; first++ {
		if c.codeMap[first>>6]>>(first&63)&1 != 0 {
			c.Memory.DropCode(first << mmu.GranuleShift)
		}
	}
}

// storeLines is loadLines of a store.
func (c *Core) storeLines(pa, n uint64) {
	for line := pa &^ c.lineMask; line < pa+n; line += c.lineMask + 1 {
		if at := uint32(line >> (c.dShift & 63)); c.sRecent[at&c.dMask] != at+1 {
			c.missStore(line)
		}
	}
}
