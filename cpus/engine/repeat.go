package engine

import (
	"unsafe"

	"kprobesim/mmu"
)

// Repeated instructions make thousands of accesses that are alike. Those within a line that need nothing but their
// tags are made in one go. Times, counts and what later loads find are as of one after the other.

// Repeat adds the time of one more element of a repeated instruction, which costs the issue of a class
// beside what its memory took.
func (c *Core) Repeat(class uint8) { c.repeated(1, class) }

// repeated is Repeat of n elements. Their time is a delay of the instruction.
func (c *Core) repeated(n uint64, class uint8) {
	a := &c.acc[c.idx&(accesses-1)]
	c.applyInputs()
	a.miss += ticks(n)*c.cost[class].issue + a.missW + a.own
	a.missW, a.own = 0, 0
	c.irregular |= insnBit(c.idx) | irregularAccess
}

// StoreElements is Store and Repeat of up to n elements at ascending addresses. It returns how many there were: none
// when the first needs more than its tags.
func StoreElements[T Width](c *Core, va uint64, v T, n uint64, class uint8) uint64 {
	size := uint64(unsafe.Sizeof(v))
	e, pa, room := c.elements(va, size)
	if n = min(n, room); n == 0 || !c.mayWrite(e, va, pa) {
		return 0
	}
	to := unsafe.Slice((*byte)(e.at(va&pageMask)), n*size)
	for i := range n {
		put(to, i*size, v)
		c.sendElement(pa+i*size, size)
	}
	c.repeated(n, class)
	return n
}

// CopyElements is Load, Store and Repeat, likewise.
func CopyElements[T Width](c *Core, from, to, n uint64, class uint8) uint64 {
	size := uint64(unsafe.Sizeof(T(0)))
	source, src, some := c.elements(from, size)
	target, dst, room := c.elements(to, size)
	line := c.line(src)
	if n = min(n, some, room); n == 0 || source.read != from>>pageShift+c.microGen ||
		c.dRecent[line&c.dMask] != line+1 || !c.mayWrite(target, to, dst) {
		return 0
	}
	in, out := unsafe.Slice((*byte)(source.at(from&pageMask)), n*size), unsafe.Slice((*byte)(target.at(to&pageMask)), n*size)
	for i := range n {
		if at := src + i*size; c.window && c.mayFind(at, size) {
			c.findStore(at, size)
			c.applyInputs() // before the next element finds another one
		}
		put(out, i*size, get[T](in, i*size))
		c.sendElement(dst+i*size, size)
	}
	c.repeated(n, class)
	return n
}

// elements returns the micro-TLB entry that an address may have, what its physical address is then, and how many
// elements lie from there on in one line and in one granule of decoded code: none when they are not aligned.
func (c *Core) elements(va, size uint64) (e *microEntry, pa, n uint64) {
	e = &c.micro[va>>pageShift&(microEntries-1)]
	pa = e.base + va&pageMask
	if va&(size-1) != 0 {
		return e, pa, 0
	}
	end := min(c.lineMask, granule-1)
	return e, pa, (end + 1 - pa&end) / size
}

// mayWrite reports whether a store needs nothing but its tags: translation and line are at hand, and no code is hit.
func (c *Core) mayWrite(e *microEntry, va, pa uint64) bool {
	line := c.line(pa)
	return e.write == va>>pageShift+c.microGen && c.sRecent[line&c.dMask] == line+1 && !c.Memory.HasCode(pa>>mmu.GranuleShift)
}

// sendElement is send of an instruction that has something in acc anyway.
func (c *Core) sendElement(pa, n uint64) {
	if !c.window {
		return
	}
	c.sequence++
	s := sentStore{pa, pa + n, c.sequence}
	c.sent[pa>>2&(sentUnits-1)] = s
	c.sent[(s.end-1)>>2&(sentUnits-1)] = s
	c.acc[c.idx&(accesses-1)].store = c.sequence
	c.sends |= 1 << (c.idx & 63)
}
