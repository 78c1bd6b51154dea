package x86

import (
	"bytes"
	"math/bits"

	"kprobesim/mmu"
)

// inst is one predecoded instruction.
type inst struct {
	exec  func(*CPU, *inst)
	imm   uint64
	disp  int32
	dst   uint8 // register operands by number in CPU.r
	src   uint8
	base  uint8
	index uint8
	shift uint8
	seg   uint8
	len   uint8
	flags uint8
	class uint8
	s1    uint8 // ready times that it waits for, beside base and index of a memory operand
	s2    uint8
	s3    uint8
	o1    uint8 // ready times that it sets
	o2    uint8
	aux   uint8 // condition, control register number and the like
	next  uint8 // where the next instruction begins, from the block's first
}

// toll is an instruction of a block that the throughput model must look at, with the time from the end
// of the one before to its own, if nothing misses.
type toll struct {
	time    ticks
	at      uint8 // its index
	flags   uint8 // fLoad, fStore
	inOrder bool
}

const (
	fLoad = 1 << iota
	fStore
	fEnds // ends a block
	fRep
	fRepne
	fLock
	fWindow // begins or reaches into a fetch window that its predecessor does not
)

// block is a run of instructions that starts in one 64-byte line and ends with it, at a branch, or at
// an instruction after which fetching must start anew.
type block struct {
	insts   []inst
	links   [2]link // blocks that followed it: the one behind it, and another
	end     uint64  // address behind it
	pa      uint64
	line    uint32 // of the instruction cache, plus one
	pc      uint64 // linear address it was decoded for: phases go by address
	cross   uint64 // physical page of the only instruction's tail when that is another page
	tail    []byte // that tail, or nil
	phase   uint8
	plain   bool // behind it nothing is to be looked at but what links cover
	tolls   []toll
	rest    ticks  // behind the last toll
	enter   bool   // a branch to it lands inside a fetch window
	watched uint64 // below this address it lies in spans that are observed: links do not lead to it
	spill   bool   // the last instruction reaches into the next line
}

// gone is the phase of a block whose line was written, which no code has: links to it lead nowhere.
const gone = freshPhase - 1

// link is a block that followed another. It holds until that is gone or a translation is forgotten.
type link struct {
	pc  uint64
	gen uint64 // of translations, with detour when Run must look around first
	to  *block
}

// detour marks links that spare fetch to find the block, but are no way from block to block: to another
// page, to an observed block, or behind an instruction after which there is something to look at.
const detour = 1 << 63

const lineBytes = 1 << mmu.LineShift

// codeLine holds the blocks that start in one line, by offset.
type codeLine struct {
	blocks [lineBytes]*block
	have   uint64 // offsets at which there are blocks
}

func (l *codeLine) put(off uint64, b *block) {
	l.blocks[off] = b
	l.have |= 1 << off
}

// drop lets links to the blocks of the line lead nowhere.
func (l *codeLine) drop() {
	for have := l.have; have != 0; have &= have - 1 {
		l.blocks[bits.TrailingZeros64(have)].phase = gone
	}
}

type codePage struct{ lines [0x1000 / lineBytes]*codeLine }

// pageLook is a translation kept in front of the instruction TLB.
type pageLook struct{ tag, base uint64 }

// fetcher finds blocks: by physical page, with the current page kept at hand.
type fetcher struct {
	pages  []*codePage
	here   *codePage
	curTag uint64 // virtual page + 1 of cur
	curPA  uint64
	ilook  [64]pageLook
	itGen  uint64
	gen    uint64 // generation of translations; links of others are void

	library *library // what other CPUs have decoded; nil when there are none
}

func (f *fetcher) init(ram int) { f.pages, f.gen = make([]*codePage, ram>>12), 1 }

func (f *fetcher) forgetFetch() {
	f.curTag = 0
	f.gen++
	f.ilook = [64]pageLook{}
}

// fetch returns the block at rip and charges its fetch; nil means that an exception is pending or
// that c.exit was set.
func (c *CPU) fetch() *block {
	pc := c.r[rRIP]
	b, from := (*block)(nil), c.cur
	l := &from.links[0]
	if pc != from.end {
		l = &from.links[1]
	}
	if l.pc == pc && l.gen&^detour == c.gen && l.to.phase != gone {
		b = l.to
	} else if b = c.find(pc); b == nil {
		return nil
	} else if b.tail == nil {
		*l = link{pc, c.gen, b}
		if from.pc>>12 != pc>>12 || !from.plain || b.watched > pc {
			l.gen |= detour
		}
	}
	c.fetchLines(b)
	return b
}

// fetchLines charges the fetch of a block. A line that was used last stays so.
func (c *CPU) fetchLines(b *block) {
	if c.iRecent[(b.line-1)&c.iMask] != b.line && !c.l1i.Use(b.line-1) {
		c.missFetch(b.pa)
	}
	if b.spill {
		next := b.pa&^(lineBytes-1) + lineBytes
		if line := uint32(next >> c.l1i.Shift()); c.iRecent[line&c.iMask] != line+1 && !c.l1i.Use(line) {
			c.missFetch(next)
		}
	}
}

// find looks the block at pc up or decodes it.
func (c *CPU) find(pc uint64) *block {
	if pc>>12+1 != c.curTag && !c.fetchPage(pc) {
		return nil
	}
	off := pc & 0xfff
	line := c.here.lines[off>>mmu.LineShift]
	if line == nil {
		line = new(codeLine)
		c.here.lines[off>>mmu.LineShift] = line
	}
	b := line.blocks[off&(lineBytes-1)]
	if b == nil || b.pc != pc || b.tail != nil && !c.sameTail(b, pc) {
		if b = c.blockAt(pc, c.curPA|off); b == nil {
			return nil
		}
		line.put(off&(lineBytes-1), b)
	}
	return b
}

// fetchPage makes the page of pc the current one.
func (c *CPU) fetchPage(pc uint64) bool {
	e := &c.ilook[pc>>12&63]
	if e.tag != pc>>12+1 || c.itlb.Generation != c.itGen {
		if !c.fetchSlow(pc) {
			return false
		}
	}
	c.curTag, c.curPA = pc>>12+1, e.base
	page := &c.pages[e.base>>12]
	if *page == nil {
		*page = new(codePage)
	}
	c.here = *page
	return true
}

// fetchSlow translates through the ITLB.
func (c *CPU) fetchSlow(pc uint64) bool {
	pa, ok := c.fetchAddress(pc)
	if !ok {
		return false
	}
	if c.itlb.Generation != c.itGen {
		c.itGen = c.itlb.Generation
		c.forgetFetch()
	}
	if !c.memory.Holds(pa, 1) {
		c.raiseCode(vecGP, 0)
		return false
	}
	c.ilook[pc>>12&63] = pageLook{pc>>12 + 1, pa &^ 0xfff}
	return true
}

func (c *CPU) fetchAddress(pc uint64) (uint64, bool) {
	if !c.canonical(pc) {
		c.raiseCode(vecGP, 0)
		return 0, false
	}
	acc := mmu.Access{Exec: true, User: c.user}
	p := c.itlb.Find(pc)
	if p != nil && !p.Allows(acc) {
		c.itlb.Drop(pc)
		p = nil
	}
	if p == nil {
		if p = c.walk(c.itlb, pc, acc); p == nil {
			return 0, false
		}
	}
	return p.Offset(pc), true
}

// sameTail reports that the page behind a block's page still maps where the block's tail was decoded,
// and that nobody wrote there: stores into that line do not know of the block.
func (c *CPU) sameTail(b *block, pc uint64) bool {
	pa, ok := c.Translate(pc&^0xfff + 0x1000)
	return ok && pa == b.cross && bytes.Equal(b.tail, c.mem[pa:pa+uint64(len(b.tail))])
}

// dropCode forgets the blocks of a written line, and those of the line before it, whose last
// instruction may reach into it. Every CPU is told of every such store, its own and others'. One that
// executes a block looks again before its next instruction.
func (c *CPU) dropCode(pa uint64) {
	c.dropLine(pa)
	if pa >= lineBytes {
		c.dropLine(pa - lineBytes)
	}
	if c.idx != between {
		c.ctr.Invalidation++
		c.stop |= stopCode
	}
}

func (c *CPU) dropLine(pa uint64) {
	p := c.pages[pa>>12]
	if p == nil {
		return
	}
	if l := &p.lines[pa&0xfff>>mmu.LineShift]; *l != nil {
		(*l).drop()
		*l = nil
	}
}
