package engine

import (
	"unsafe"

	"kprobesim/internal/clock"
)

// Without a cost model a block that is executed often becomes threaded code (Bell, Threaded Code, 1973): functions
// of the instruction set that do the frequent case of an instruction and say which comes next. Where the frequent
// case does not hold they have Generally execute the instruction as all others are, so that each is described once:
// faults, devices, watched pages and stores into code are none of theirs. Blocks are linked, and between two of them
// no more is looked at than whether the time is over and whether translations and code are what they were.

// Thread is an instruction of threaded code.
type Thread[C, P any] struct {
	// Exec returns the next instruction to be executed, or nil when there is a reason to leave.
	Exec     func(*C, *Thread[C, P]) *Thread[C, P]
	Operands P
	General  func(*C, *P) // what Generally calls
	Next     uint64       // address of the instruction behind it
	At       int          // its place in its block
	Ways     *Ways[C, P]
}

// Ways are the ways out of a block.
type Ways[C, P any] struct {
	n      int // instructions of the block
	behind way[C, P]
	taken  way[C, P]
	block  *Block[C, P]
}

// way is a link of threaded code. It holds until a translation or code is forgotten.
type way[C, P any] struct {
	gen uint64
	to  *Thread[C, P]
	pc  uint64
}

// Threader is an instruction set that makes threaded code.
type Threader[C, P any] interface {
	// Thread makes threaded code of a block, and fills Exec, Operands and At. Behind an instruction for which it has
	// no function of its own stands one that calls Generally. The last one leaves the block by Behind, Taken, To or Leave;
	// plain says that the block may be left by the first three. taken is where its branch goes, if it has a constant
	// target.
	Thread(insns []Insn[C, P], ops []Op, plain bool) (code []Thread[C, P], taken uint64)
	// Unthread is told that threaded code is left, or that something else looks at the CPU.
	Unthread()
}

// threads is the state of threaded code on its way. It counts instructions down in place of time.
type threads[C, P any] struct {
	threader Threader[C, P]
	left     int        // instructions until the time is over: the next block is not begun when there are none
	begun    int        // left when time and counts were last brought up to date
	want     *way[C, P] // by which code was left that it did not lead on to, and
	from     *Block[C, P]
	jumps    *[jumps]landing[C, P]
}

// landing is where an address was found.
type landing[C, P any] struct {
	pc    uint64
	gen   uint64
	phase uint8
	to    *Thread[C, P]
}

const (
	jumps       = 1 << 12
	threadHeat  = 3   // executions of a block before it becomes threaded code
	threadBytes = 112 // of the host, about, for an instruction
)

func placeOfJump(pc uint64) uint64 { return (pc ^ pc>>12) & (jumps - 1) }

// After returns the instruction behind q in its block's threaded code.
func After[C, P any](q *Thread[C, P]) *Thread[C, P] {
	return (*Thread[C, P])(unsafe.Add(unsafe.Pointer(q), unsafe.Sizeof(*q)))
}

// Behind leaves a block for the one behind it.
func (e *Engine[C, P]) Behind(q *Thread[C, P]) *Thread[C, P] { return e.by(q.Ways, &q.Ways.behind) }

// Taken leaves a block for where its branch goes.
func (e *Engine[C, P]) Taken(q *Thread[C, P]) *Thread[C, P] { return e.by(q.Ways, &q.Ways.taken) }

// Branch leaves a block by a conditional branch.
func (e *Engine[C, P]) Branch(q *Thread[C, P], taken bool) *Thread[C, P] {
	w := &q.Ways.behind
	if taken {
		w = &q.Ways.taken
	}
	return e.by(q.Ways, w)
}

func (e *Engine[C, P]) by(from *Ways[C, P], w *way[C, P]) *Thread[C, P] {
	if e.left -= from.n; w.gen != e.gen || e.left <= 0 {
		return e.missing(from, w)
	}
	return w.to
}

// To leaves a block for an address that was computed.
func (e *Engine[C, P]) To(q *Thread[C, P], pc uint64) *Thread[C, P] {
	j := &e.jumps[placeOfJump(pc)]
	if e.left -= q.Ways.n; j.pc != pc || j.gen != e.gen || j.phase != e.phase || e.left <= 0 {
		return e.elsewhere(q.Ways, pc)
	}
	return j.to
}

// missing leaves threaded code by a way that leads nowhere yet.
//
//go:noinline
func (e *Engine[C, P]) missing(from *Ways[C, P], w *way[C, P]) *Thread[C, P] {
	e.block, e.from, e.want, e.R[PC] = from.block, from.block, w, w.pc
	return nil
}

//go:noinline
func (e *Engine[C, P]) elsewhere(from *Ways[C, P], pc uint64) *Thread[C, P] {
	e.block, e.R[PC] = from.block, pc
	return nil
}

// Leave leaves threaded code behind a block whose last instruction was executed generally.
func (e *Engine[C, P]) Leave(q *Thread[C, P]) *Thread[C, P] {
	e.left -= q.Ways.n
	e.block = q.Ways.block
	return nil
}

// Generally executes an instruction as code is that is not threaded.
func (e *Engine[C, P]) Generally(q *Thread[C, P]) *Thread[C, P] {
	e.threader.Unthread()
	b := q.Ways.block
	in := &b.insns[q.At]
	e.bringUp()
	e.running(b)
	e.idx, e.R[PC] = q.At, in.next
	before := e.retire
	in.Exec(e.self, &in.Operands)
	if e.Stop != 0 {
		e.block = b
		return nil
	}
	if e.retire != before || e.Check != 0 { // which is looked at behind this block
		e.allow(e.settled)
	}
	return After(q)
}

// bringUp brings time and counts up to the present block, of which some instructions may have their time already.
func (e *Engine[C, P]) bringUp() {
	n := e.begun - e.left
	if n < 0 {
		e.settled = -n
		return
	}
	e.begun, e.settled = e.left, 0
	e.count += uint64(n)
	e.retire += ticks(n) * e.quick.each
}

// allow counts down from the number of instructions until the end of this run, which is behind the present block when
// there is something to look at. So many of that block have their time already.
func (e *Engine[C, P]) allow(settled int) {
	e.left = settled
	if e.retire < e.until && e.Check == 0 {
		e.left += int((e.until-e.retire-1)/e.quick.each) + 1
	}
	e.begun = e.left - settled
}

// threaded returns the threaded code of a block, or nil when it has none.
func (e *Engine[C, P]) threaded(b *Block[C, P]) *Thread[C, P] {
	if b.thread != nil || e.threader == nil || e.stale != nil || b.tail != nil {
		return b.thread
	}
	if b.heat++; b.heat < threadHeat {
		return nil
	}
	if e.jumps == nil {
		e.jumps = new([jumps]landing[C, P])
	}
	code, taken := e.threader.Thread(b.insns, b.ops, b.plain)
	ways := &Ways[C, P]{n: len(b.insns), block: b, behind: way[C, P]{pc: b.end}, taken: way[C, P]{pc: taken}}
	for i := range code {
		q := &code[i]
		q.Ways, q.Next, q.General = ways, b.insns[q.At].next, b.insns[q.At].Exec
	}
	if e.held += threadBytes * len(code); e.held > e.limit {
		e.Check |= checkStore
	}
	b.thread = &code[0]
	return b.thread
}

// runThreads is runUntimed from a block that is threaded code, which some code may have been left for.
func (e *Engine[C, P]) runThreads(b *Block[C, P], limit clock.Ticks) {
	t := b.thread
	if b.watched <= b.pc && !b.stops {
		e.jumps[placeOfJump(b.pc)] = landing[C, P]{b.pc, e.gen, e.phase, t}
		if w := e.want; w != nil && w.pc == b.pc && e.from.phase == b.phase {
			*w = way[C, P]{e.gen, t, b.pc}
		}
	}
	e.want, e.from = nil, nil
	e.until, e.settled = min(limit, e.quick.until), 0
	e.allow(0)
	for t != nil {
		t = t.Exec(e.self, t)
	}
	e.threader.Unthread()
	if e.Stop != 0 {
		e.finish(e.block, e.idx)
		return
	}
	e.bringUp()
	e.dispatch, e.course, e.odd, e.sends, e.idx = e.retire, 0, 0, 0, between
}

// Readable returns where RAM has the n bytes at a virtual address, for a load without a cost model; or nil when it
// is to be made by Load. An operand of any width may be read there with the least significant byte first.
func (c *Core) Readable(va, n uint64) unsafe.Pointer {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	if e.read != va>>pageShift+c.microGen || va&pageMask > pageBytes-n {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(e.page), va&pageMask)
}

// Writable is Readable for a store. Bytes that somebody has decoded are none.
func (c *Core) Writable(va, n uint64) unsafe.Pointer {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	if e.write != va>>pageShift+c.microGen || off > pageBytes-n || c.codeMap[e.base>>pageShift] != 0 {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(e.page), off)
}
