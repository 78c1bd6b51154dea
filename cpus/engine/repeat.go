package engine

import (
	"unsafe"

	"kprobesim/mmu"
)

// Repeated instructions make thousands of accesses that are alike. Those within a line that need nothing but their
// tags are made in one go. Times, counts and what later loads find are as of one after the other.

// Pace prices the elements of a repeated instruction beside their memory: each takes the issue of a class, or, in a fast
// string, which moves many at a time, each FastBytes of them do.
type Pace struct {
	Class uint8
	Fast  bool
	Size  uint64 // of an element in bytes
	bytes uint64 // moved so far
}

// FastBytes counts the bytes of a fast string that take the issue of its class.
const FastBytes = 64

// take is the time of n more elements.
func (p *Pace) take(n uint64, issue ticks) ticks {
	before := ticks(p.bytes)
	p.bytes += n * p.Size
	if !p.Fast {
		return ticks(n) * issue
	}
	return issue*ticks(p.bytes)/FastBytes - issue*before/FastBytes
}

// Repeat adds the time of one more element of a repeated instruction, and what its memory took.
func (c *Core) Repeat(p *Pace) { c.repeated(1, p) }

// repeated is Repeat of n elements. Their time is a delay of the instruction.
func (c *Core) repeated(n uint64, p *Pace) {
	a := &c.acc[c.idx&(accesses-1)]
	c.applyInputs()
	a.miss += p.take(n, c.cost[p.Class].issue) + a.missW + a.own
	a.missW, a.own = 0, 0
	c.irregular |= insnBit(c.idx) | irregularAccess
}

// StoreElements is Store and Repeat of up to n elements at ascending addresses. It returns how many there were: none
// when the first needs more than its tags.
func StoreElements[T Width](c *Core, va uint64, v T, n uint64, p *Pace) uint64 {
	size := uint64(unsafe.Sizeof(v))
	e, pa, room := c.elements(va, size)
	if n = min(n, room); n == 0 || !c.mayWrite(e, va, pa) {
		return 0
	}
	to := unsafe.Slice((*byte)(e.at(va&pageMask)), n*size)
	for i := range n {
		put(to, i*size, v)
	}
	c.sendElements(pa, n, size)
	c.repeated(n, p)
	return n
}

// CopyElements is Load, Store and Repeat, likewise.
func CopyElements[T Width](c *Core, from, to, n uint64, p *Pace) uint64 {
	size := uint64(unsafe.Sizeof(T(0)))
	source, src, some := c.elements(from, size)
	target, dst, room := c.elements(to, size)
	if n = min(n, some, room); n == 0 || source.read != from>>pageShift+c.microGen || !c.mayRead(src, dst, size, p) || !c.mayWrite(target, to, dst) {
		return 0
	}
	in, out := unsafe.Slice((*byte)(source.at(from&pageMask)), n*size), unsafe.Slice((*byte)(target.at(to&pageMask)), n*size)
	together := n
	if c.sharesUnits(src, dst) {
		together = 1 // a load may find what the element before it stored
	}
	for at := uint64(0); at < n*size; at += together * size {
		c.findElements(src+at, together, size)
		copy(out[at:at+together*size], in[at:])
		c.sendElements(dst+at, together, size)
	}
	c.noteLast(src, n, size)
	c.repeated(n, p)
	return n
}

// noteLast is noteColumns of n loads, of which the last ones are remembered.
func (c *Core) noteLast(at, n, size uint64) {
	if !c.columnsMatter() {
		return
	}
	for i := n - min(n, columnLoads); i < n; i++ {
		c.noteColumns(at+i*size, size)
	}
}

// mayRead reports whether a load of an element that is copied needs nothing but its tags: its line is the one that its set used last.
// Two lines of one set take turns, and after two elements of both nothing changes any more.
func (c *Core) mayRead(src, dst, size uint64, p *Pace) bool {
	line, other := c.line(src), c.line(dst)
	if c.dRecent[line&c.dMask] == line+1 {
		return true
	}
	return (line^other)&c.dMask == 0 && 2*size <= min(p.bytes, src&c.lineMask, dst&c.lineMask) && c.l1d.Has(line)
}

// sharesUnits reports whether a line's elements that are loaded and stored may be found in the same units of sent.
func (c *Core) sharesUnits(src, dst uint64) bool {
	apart := (dst>>2 - src>>2) & (sentUnits - 1)
	line := c.lineMask>>2 + 1
	return apart <= line || apart >= sentUnits-line
}

// findElements is findStore of n loads. All loads of a unit look at the same store.
func (c *Core) findElements(at, n, size uint64) {
	if !c.window {
		return
	}
	before := c.sequence
	for first, end := at, at+n*size; at < end; {
		next := min(max(at|3+1, at+size), end)
		if c.mayFind(at, size) {
			for ; at < next; at += size {
				c.sequence = before + (at-first)/size // each has its store behind it
				c.findStore(at, size)
				c.applyInputs() // before the next element finds another one
			}
		}
		at = next
	}
	c.sequence = before
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

// sendElements is send of n elements of an instruction that has something in acc anyway. Of several in a unit the last one is found.
func (c *Core) sendElements(pa, n, size uint64) {
	if !c.window {
		return
	}
	a := &c.acc[c.idx&(accesses-1)]
	for first, end := pa, pa+n*size; pa < end; {
		next := min(max(pa|3+1, pa+size), end)
		s := sentStore{next - size, next, c.sequence + (next-first)/size}
		c.sent[s.pa>>2&(sentUnits-1)] = s
		c.sent[(s.end-1)>>2&(sentUnits-1)] = s
		pa = next
	}
	c.sequence += n
	a.store = c.sequence
	c.sends |= 1 << (c.idx & 63)
}
