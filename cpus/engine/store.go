package engine

import (
	"bytes"
	"math/bits"

	"kprobesim/cpus"
	"kprobesim/internal/host"
	"kprobesim/mmu"
)

// store holds the decoded code of one CPU: blocks by physical page and granule, with the current page
// kept at hand.
//
// A guest may execute its way through all of its memory, and decoded code is many times larger than
// the code. So the store is bounded, together with the stores of the machine's other CPUs: when it is full,
// everything is dropped and what still runs is decoded again. Time does not depend on it.
type store[C, P any] struct {
	pages     []*codePage[C, P]
	here      *codePage[C, P]
	curTag    uint64 // virtual page + 1 of here
	curPA     uint64
	microITLB [microPages]microPage
	itlbGen   uint64
	maxInsn   int
	shortcuts [shortcuts]link[C, P] // to the blocks that were found last, from any plain block

	// held are bytes of the host that were taken since the store was last emptied, about. Code that was
	// dropped meanwhile counts too, and so do the line versions that are kept of it: the bound is safe.
	held  int
	limit int

	versions *versions[C, P] // what other CPUs have decoded; nil when there are none
}

// microPage is a translation kept in front of the instruction TLB. The tag is the context and the virtual
// page number plus one, so that the zero entry matches nothing.
type microPage struct{ tag, base uint64 }

const microPages = 64

// shortcuts is their number. A function that is called from everywhere returns to more places than a block has links.
const shortcuts = 1 << 11

// shortcut returns where a link to pc is, or another one.
func (s *store[C, P]) shortcut(pc uint64) *link[C, P] { return &s.shortcuts[(pc^pc>>9)&(shortcuts-1)] }

// codePage holds the granules of one page.
type codePage[C, P any] struct {
	granules [pageBytes / granule]*codeGranule[C, P]
}

// codeGranule holds the blocks that start in one granule, by offset.
type codeGranule[C, P any] struct {
	blocks [granule]*Block[C, P]
	have   uint64 // offsets at which there are blocks
}

// put keeps a block.
func (g *codeGranule[C, P]) put(off uint64, b *Block[C, P]) {
	g.blocks[off] = b
	g.have |= 1 << off
}

// Bytes of the host that decoded code takes, about. host.Decoded bounds what all CPUs of a machine may hold.
const (
	granuleBytes = 8*granule + 64
	blockBytes   = 320
	insnBytes    = 96
)

func (s *store[C, P]) init(bus cpus.Bus, maxInsn int) {
	ram, n := bus.Memory.Size(), 1
	if bus.Directory != nil {
		n = bus.Directory.CPUs()
	}
	s.pages = make([]*codePage[C, P], ram>>pageShift)
	s.maxInsn = maxInsn
	s.limit = max((host.Decoded.Base+ram/host.Decoded.Share)/n, host.Decoded.Least)
}

// forgetCode drops every block of this CPU.
func (e *Engine[C, P]) forgetCode() {
	e.pages, e.held = make([]*codePage[C, P], len(e.pages)), 0
	e.block = e.block.last()
	e.cur = &e.block.timed
	e.shortcuts = [shortcuts]link[C, P]{}
	e.resume.block = nil
	e.forgetFetch()
	e.forgetTranslated()
}

// weigh counts what a new block takes and has the store emptied between two blocks when it is full.
func (e *Engine[C, P]) weigh(b *Block[C, P]) {
	e.held += blockBytes + insnBytes*len(b.insns)
	if e.held > e.limit {
		e.Check |= checkStore
	}
}

// ForgetCode drops all decoded code, that of this CPU and what it shares with others. What still runs is
// decoded again; time does not depend on it.
func (e *Engine[C, P]) ForgetCode() {
	e.forgetCode()
	if e.versions != nil {
		e.versions.empty()
	}
}

// empty makes room in a full store. The host gets its memory back at once, because the next garbage
// collection would come when as much has been allocated again as the guest's whole memory.
func (e *Engine[C, P]) empty() {
	e.Check &^= checkStore
	e.ForgetCode()
	host.FreeMemory()
}

// fetch returns the block at the program counter and charges its fetch; nil means that an exception is
// pending or that the CPU is to leave guest execution.
func (e *Engine[C, P]) fetch() *Block[C, P] {
	pc := e.R[PC]
	b, from := (*Block[C, P])(nil), e.block
	l := from.linkTo(pc)
	if l.pc == pc && l.gen&^detour == e.gen && l.to.phase != gone {
		b = l.to
	} else if b = e.find(pc); b == nil {
		return nil
	} else if b.tail == nil {
		l = from.linkSlot(pc)
		*l = link[C, P]{pc, e.gen, b}
		if b.watched > pc || b.stops || b.breaks {
			l.gen |= detour
		}
		*e.shortcut(pc) = *l
		if !from.plain || from.phase != b.phase {
			l.gen |= detour
		}
	}
	e.fetchLines(b)
	return b
}

// fetchLines charges the fetch of a block. A line that was used last stays so.
func (e *Engine[C, P]) fetchLines(b *Block[C, P]) {
	if e.bypassesCaches() {
		return
	}
	if *b.lineUsed != b.line && !e.l1i.Use(b.line-1) {
		e.missFetch(b.pa)
	}
	if b.next != 0 && *b.nextUsed != b.next && !e.l1i.Use(b.next-1) {
		e.missFetch(uint64(b.next-1) << e.l1i.Shift())
	}
}

// find looks the block at pc up or decodes it.
func (e *Engine[C, P]) find(pc uint64) *Block[C, P] {
	if pc>>pageShift+1 != e.curTag && !e.fetchPage(pc) {
		return nil
	}
	off := pc & pageMask
	at := &e.here.granules[off>>mmu.GranuleShift]
	if *at == nil {
		*at = new(codeGranule[C, P])
		e.held += granuleBytes
	}
	g := *at
	b := g.blocks[off&(granule-1)]
	same := b != nil && b.pc == pc && b.mode == e.mode
	if same && b.tail != nil {
		var ok bool
		if same, ok = e.sameTail(b, pc); !ok {
			return nil
		}
	}
	if !same {
		if e.stale != nil {
			e.bringCode(e.curPA | off)
		}
		if b = e.blockAt(pc, e.curPA|off); b == nil {
			return nil
		}
		if old := g.blocks[off&(granule-1)]; old != nil {
			e.dropBlock(old) // it was decoded for another address: nothing would tell its links of a store
		}
		g.put(off&(granule-1), b)
	}
	return b
}

// bringCode brings the line of an address into an instruction cache that is not coherent, because the
// line keeps the bytes of that time. What it takes is charged here and not again by fetchLines.
func (e *Engine[C, P]) bringCode(pa uint64) {
	if !e.l1i.Has(e.line(pa)) {
		e.missFetch(pa)
	}
}

// blockAt returns a new block at pc, decoded here or by another CPU, or nil with an exception pending.
func (e *Engine[C, P]) blockAt(pc, pa uint64) *Block[C, P] {
	if e.versions == nil || e.stale.has(pa) {
		return e.decodeBlock(pc, pa)
	}
	known := e.versions.find(pa)
	if known == nil || known.pc != pc || known.mode != e.mode {
		if known = e.decodeBlock(pc, pa); known == nil || known.tail != nil {
			return known
		}
		e.versions.put(pa, known)
	}
	b := *known
	b.code, b.warm = nil, 0
	e.placeLines(&b)
	e.findStops(&b)
	e.weigh(&b)
	return &b
}

// fetchPage makes the page of pc the current one. It returns false with the exception pending.
func (e *Engine[C, P]) fetchPage(pc uint64) bool {
	m := &e.microITLB[pc>>pageShift&(microPages-1)]
	if m.tag != e.codeTag(pc) || e.ITLB.Generation != e.itlbGen {
		if !e.fetchSlow(pc) {
			return false
		}
	}
	e.curTag, e.curPA = pc>>pageShift+1, m.base
	page := &e.pages[m.base>>pageShift]
	if *page == nil {
		*page = new(codePage[C, P])
	}
	e.here = *page
	return true
}

// codeAddress translates an address of code through the ITLB. Copies of translations that this has replaced are voided.
func (e *Engine[C, P]) codeAddress(va uint64) (pa uint64, ok bool) {
	pa, ok = e.isa.CodeAddress(va)
	if n := e.ITLB.Generation - e.itlbGen; n != 0 {
		e.itlbGen = e.ITLB.Generation
		e.forgetLinks()
		e.replacedCode(n)
	}
	return pa, ok
}

// fetchSlow translates through the ITLB.
func (e *Engine[C, P]) fetchSlow(pc uint64) bool {
	pa, ok := e.codeAddress(pc)
	if !ok {
		return false
	}
	if !e.Memory.Holds(pa, 1) {
		e.isa.NoCode()
		return false
	}
	e.microITLB[pc>>pageShift&(microPages-1)] = microPage{e.codeTag(pc), pa &^ pageMask}
	return true
}

// sameTail reports that the page behind a block's page still maps where the block's tail was decoded,
// and that nobody wrote there: stores into that granule do not know of the block. ok is false with an exception
// pending. The page is translated for each execution, as if the block were decoded anew.
func (e *Engine[C, P]) sameTail(b *Block[C, P], pc uint64) (same, ok bool) {
	pa, ok := e.codeAddress(pc&^pageMask + pageBytes)
	return ok && pa == b.tail.page && bytes.Equal(b.tail.code, e.Code(pa, len(b.tail.code))), ok
}

// dropCode forgets the blocks of a written granule, and blocks of the one before it whose last
// instruction reaches into it. Every CPU is told of every such store, its own and others'. One whose instruction
// cache keeps the line as it was goes on with that.
//
// One that executes such a block looks again before its next instruction. One that executes any other block does not:
// what the host has decoded is nothing that a guest could tell, so the end of no block may follow from it.
func (e *Engine[C, P]) dropCode(pa uint64) {
	if e.stale.has(pa) {
		return
	}
	hit := e.dropGranule(pa, false)
	if pa >= granule {
		hit = e.dropGranule(pa-granule, true) || hit
	}
	e.stopIf(hit)
}

// stopIf has the running block end behind the running instruction when it was dropped.
func (e *Engine[C, P]) stopIf(hit bool) {
	if e.idx != between && hit {
		e.Stop |= StopCode
	}
}

// dropGranule forgets the blocks of a granule, or those alone that reach behind it, and reports whether one of them is
// the running one.
func (e *Engine[C, P]) dropGranule(pa uint64, reaching bool) (hit bool) {
	p := e.pages[pa>>pageShift]
	if p == nil {
		return false
	}
	g := p.granules[pa&pageMask>>mmu.GranuleShift]
	if g == nil {
		return false
	}
	for have := g.have; have != 0; have &= have - 1 {
		off := bits.TrailingZeros64(have)
		b := g.blocks[off]
		if reaching && !b.reaches() {
			continue
		}
		g.blocks[off], g.have = nil, g.have&^(1<<off)
		e.dropBlock(b)
		hit = hit || &b.timed == e.cur
	}
	return hit
}

// dropBlock has links and host code lead to a block no more.
func (e *Engine[C, P]) dropBlock(b *Block[C, P]) {
	b.goes()
	if e.chains.landings != nil {
		e.chains.voidRegion(b.pc)
	}
}
