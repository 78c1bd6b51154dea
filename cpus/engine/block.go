package engine

import "kprobesim/mmu"

// Block is a run of instructions that starts in one granule of decoded code and ends with it, at a
// branch, or at an instruction after which fetching must start anew.
//
// What is looked at on the way from block to block comes first, so that it lies in two lines of the host's cache.
type Block[C, P any] struct {
	links [2]link[C, P] // blocks that followed it: the one behind it, and another one
	// Where the CPU's cache says which line of their sets it used last.
	lineUsed *uint32
	only     uint32 // line when the block lies in no other one, and noLine when it does or is gone
	line     uint32 // of the instruction cache, plus one
	insns    []Insn[C, P]
	timed

	next     uint32 // the same of the line that the last instruction reaches into, or zero
	phase    uint8
	plain    bool  // behind it nothing is to be looked at but what links cover
	other    uint8 // the next link to others
	stops    bool  // an instruction in it is watched
	nextUsed *uint32
	end      uint64        // address behind it
	more     [2]link[C, P] // further blocks that followed it
	pc       uint64        // virtual address it was decoded for: phases go by address
	pa       uint64
	watched  uint64       // below this address it lies in spans that are observed: links do not lead to it
	tail     *tail        // of the only instruction when it reaches into another page
	mode     uint8        // in which it was decoded
	breaks   bool         // a debugger has a breakpoint in it
	single   bool         // observers are told of its instructions one by one
	code     *translation // nil until it is translated
	warm     uint8        // executions up to its translation, or tried
}

// tail is the part of an instruction in a second page: that page's physical address, and the bytes.
type tail struct {
	page uint64
	code []byte
}

// noLine is no line plus one.
const noLine = 1<<32 - 1

// gone is the phase of a block whose code was written, which no code has: links to it lead nowhere.
const gone = freshPhase - 1

// goes has links to a block lead nowhere.
func (b *Block[C, P]) goes() { b.phase, b.only = gone, noLine }

// fetched reports whether its lines are those that their sets used last: to fetch them again changes nothing.
func (b *Block[C, P]) fetched() bool {
	return *b.lineUsed == b.line && (b.next == 0 || *b.nextUsed == b.next)
}

// last answers LastBranch for a block that is forgotten.
func (b *Block[C, P]) last() *Block[C, P] {
	n := max(len(b.insns)-1, 0)
	return &Block[C, P]{insns: b.insns[n:], timed: timed{ops: b.ops[n:]}, end: b.end}
}

// reaches reports whether the last instruction lies in the next granule too.
func (b *Block[C, P]) reaches() bool { return b.pa&(granule-1)+b.end-b.pc > granule }

// link is a block that followed another. It holds until that is gone or a translation is forgotten.
// Generations begin with 1, so that the zero link leads nowhere.
type link[C, P any] struct {
	pc  uint64
	gen uint64 // of translations, with detour when Run must look around first
	to  *Block[C, P]
}

// detour marks links that spare fetch to find the block, but are no way from block to block: to an observed
// block, or behind an instruction after which there is something to look at. A link to another page is a way as
// any: it holds until a translation is forgotten.
const detour = 1 << 63

// linkTo returns the link to pc, or one to something else.
//
//go:noinline
func (b *Block[C, P]) linkTo(pc uint64) *link[C, P] {
	for i := range b.links {
		if l := &b.links[i]; l.pc == pc {
			return l
		}
	}
	for i := range b.more {
		if l := &b.more[i]; l.pc == pc {
			return l
		}
	}
	return &b.links[0]
}

// linkSlot returns where a link to pc is to be kept. A return leads to several callers.
func (b *Block[C, P]) linkSlot(pc uint64) *link[C, P] {
	if l := b.linkTo(pc); l.pc == pc || pc == b.end {
		return l
	}
	at := b.other
	if b.other++; int(b.other) > len(b.more) {
		b.other = 0
	}
	if at == 0 {
		return &b.links[1]
	}
	return &b.more[at-1]
}

// Decoded code is kept and dropped in granules of this size.
const granule = 1 << mmu.GranuleShift

// decodeBlock decodes a run of instructions at pc. It returns nil with an exception pending when the
// first of them cannot be fetched. A block never reaches into a second granule but by its last
// instruction: a store then voids at most the granule that it hits and the one before.
func (e *Engine[C, P]) decodeBlock(pc, pa uint64) *Block[C, P] {
	b := &Block[C, P]{pc: pc, pa: pa, phase: e.Bus.Phase(pc), mode: e.mode}
	b.entered = pc&e.windowMask() != 0
	end := pa&^(granule-1) + granule
	for at := pa; at < end; {
		code, tail, ok := e.codeAt(pc, at, at == pa)
		if !ok {
			if at == pa {
				return nil
			}
			break // page-crossing instructions are blocks of their own
		}
		in, op := e.isa.Decode(code, pc)
		e.trackStack(&op)
		if op.Flags&Clears != 0 && e.zeroIdioms {
			op.S1, op.S2, op.S3 = op.Base, op.Base, op.Base // no operand in memory: always ready
		}
		if e.pipes != nil && e.pipes.prices[op.Class].breaks {
			e.waitForFlags(&op)
		}
		n := uint64(op.Len)
		e.markCode(b, code, at, n, tail)
		if e.reachesNewWindow(pc, n) {
			op.Flags |= newWindow
		}
		if e.pipes != nil {
			e.pipes.mark(b.ops, &op, pc, n)
		}
		at += n
		pc += n
		in.next = pc
		b.insns, b.ops = append(b.insns, in), append(b.ops, op)
		if op.Flags&Ends != 0 || b.tail != nil {
			break
		}
	}
	e.finishBlock(b, pc)
	return b
}

// windowMask is the bytes of a window that the front end takes at once, less one.
func (c *Core) windowMask() uint64 {
	if c.pipes != nil && c.pipes.lineMask != 0 {
		return c.pipes.lineMask
	}
	return c.fetchMask
}

// waitForFlags takes away the sources that are no flags. A register of an operand in memory that it has not is always ready.
func (c *Core) waitForFlags(op *Op) {
	for _, s := range []*uint8{&op.S1, &op.S2, &op.S3} {
		if c.flags>>(*s&regMask)&1 == 0 {
			*s = op.Base
		}
	}
}

// trackStack marks what names the stack pointer, and gives what moves it an address of its own: the pointer
// as it was before the instruction, which stackPointer keeps there.
func (e *Engine[C, P]) trackStack(op *Op) {
	sp := e.stack
	if op.Flags&moves != 0 && op.Base == sp {
		op.Base = stackAddress
	}
	if op.S1 == sp || op.S2 == sp || op.S3 == sp || op.Base == sp || op.Index == sp {
		op.Flags |= namesStack
	}
}

// markCode has the memory tell of stores into an instruction of n bytes.
func (e *Engine[C, P]) markCode(b *Block[C, P], code []byte, pa, n, second uint64) {
	e.Memory.MarkCode(pa)
	if left := pageBytes - pa&pageMask; n > left {
		b.tail = &tail{second, append([]byte{}, code[left:n]...)}
		e.Memory.MarkCode(second)
		return
	}
	e.Memory.MarkCode(pa + n - 1)
}

// finishBlock notes what follows from a block's instructions; pc is the address behind it. Whether a
// block is plain and what its costs add up to is decided here, once, because a block is executed
// many times.
func (e *Engine[C, P]) finishBlock(b *Block[C, P], pc uint64) {
	b.end, b.ends = pc, pc-1
	shift := e.l1i.Shift()
	b.line = uint32(b.pa>>shift) + 1
	if last := uint32((b.pa+pc-b.pc-1)>>shift) + 1; last != b.line && b.tail == nil {
		b.next = last
	}
	if b.only = b.line; b.next != 0 {
		b.only = noLine
	}
	e.placeLines(b)
	e.findStops(b)
	e.record(&b.timed)
	flags := b.ops[len(b.ops)-1].Flags
	b.plain = b.tail == nil && (flags&Ends == 0 || flags&Branches != 0)
	e.weigh(b)
}

// placeLines finds where this CPU's cache has the lines of a block.
func (e *Engine[C, P]) placeLines(b *Block[C, P]) {
	b.lineUsed = &e.iRecent[(b.line-1)&e.iMask]
	b.nextUsed = &e.iRecent[(b.next-1)&e.iMask]
}

// findStops notes where a block must be left or executed one by one.
func (e *Engine[C, P]) findStops(b *Block[C, P]) {
	b.watched, b.stops, b.breaks = e.watches(b.pc, b.end), e.stopsIn(b.pc, b.end), e.breaksIn(b.pc, b.end)
	b.single = b.watched != 0 || b.tail != nil || e.blocks == nil || !e.blocks.Block(b.pc, e.Code(b.pa, int(b.end-b.pc)))
}

// watches returns the end of the spans that are observed in a range of addresses, or 0 when there are none.
func (e *Engine[C, P]) watches(from, to uint64) (end uint64) {
	for _, s := range e.spans {
		if from < s[1] && s[0] < to {
			end = max(end, s[1])
		}
	}
	return end
}

// reachesNewWindow reports whether the n bytes at pc reach into a fetch window that the byte before pc
// does not. Without a modelled front end (fetch_bytes absent) there are no windows.
func (e *Engine[C, P]) reachesNewWindow(pc, n uint64) bool {
	return e.fetchMask != 0 && (pc-1)|e.fetchMask != (pc+n-1)|e.fetchMask
}

// codeAt returns the bytes at pc, up to the length of the longest instruction, and the physical page
// behind when they reach into it. That page is looked at for the first instruction of a block only: what
// comes later may never be executed. False leaves an exception pending then.
func (e *Engine[C, P]) codeAt(pc, pa uint64, first bool) (code []byte, tail uint64, ok bool) {
	left := int(pageBytes - pa&pageMask)
	if left >= e.maxInsn {
		return e.Code(pa, e.maxInsn), 0, true
	}
	buf := make([]byte, left, e.maxInsn)
	copy(buf, e.Code(pa, left))
	if e.isa.Whole(buf) {
		return buf, 0, true
	}
	if !first {
		return nil, 0, false
	}
	next, ok := e.codeAddress(pc&^pageMask + pageBytes)
	if !ok {
		return nil, 0, false
	}
	if !e.Memory.Holds(next, e.maxInsn) {
		return buf, 0, true
	}
	return append(buf, e.Code(next, e.maxInsn-left)...), next, true
}
