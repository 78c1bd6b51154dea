package engine

import (
	"unsafe"

	"kprobesim/internal/clock"
)

// Without a cost model a block that is executed often becomes threaded code (Bell, Threaded Code, 1973): functions
// of the instruction set that do the frequent case of an instruction and say which comes next. Where the frequent
// case does not hold they have the instruction executed as all others are (Slow), so that each is described once:
// faults, devices, watched pages and stores into code are none of theirs. Blocks are linked, and between two of them
// no more is looked at than whether the time is over and whether translations and code are what they were.

// Thread is an instruction of threaded code.
type Thread[C, P any] struct {
	// Exec returns the next instruction to be executed, or nil when there is a reason to leave.
	Exec     func(*C, *Thread[C, P]) *Thread[C, P]
	Operands P
	General  func(*C, *P) // the function of the instruction in code that is not threaded
	Next     uint64       // address of the instruction behind it
	At       int          // its place in its block
	Ways     *Ways[C, P]
	code     uintptr // of the host, for Exec
}

// Ways are the ways out of a block.
type Ways[C, P any] struct {
	n      int     // instructions of the block
	slow   uintptr // from an instruction's place to that of Slow
	behind way[C, P]
	taken  way[C, P]
	outs   [3]Thread[C, P]
	block  *Block[C, P]
}

// way is a link of threaded code. It holds as long as the generation of the region that it leads to is the same.
type way[C, P any] struct {
	gen uint64
	now *uint64
	to  *Thread[C, P]
	out *Thread[C, P] // where it leads when it does not hold, or the time is over
	pc  uint64
	// slot is gen and to in code of the host, if there is any.
	slot *[2]uint64
}

// Outs leave threaded code. What they are told by is Thread.At.
const (
	outBehind = iota
	outTaken
	outElsewhere
)

// Threader is an instruction set that makes threaded code.
type Threader[C, P any] interface {
	// Thread makes threaded code of a block, and fills Exec, Operands and At. An instruction for which it has no function
	// of its own has one that returns Slow. The last one leaves the block by Behind, Taken, To or Leave; plain says that
	// the block may be left by the first three. taken is where its branch goes, if it has a constant target.
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
	landings *[landings]landing[C, P]
	// regions are the generations of what lies at an address, by regions of it. A translation that the TLB replaces by
	// another voids the ways to its region alone: those to others would hit the TLB again, which changes nothing.
	regions [regions]uint64
	slow    func(*C, *Thread[C, P]) *Thread[C, P]
	out     func(*C, *Thread[C, P]) *Thread[C, P]
	nativeState[C, P]
}

// landing is where an address was found.
type landing[C, P any] struct {
	pc    uint64
	gen   uint64
	now   *uint64
	phase uint8
	to    *Thread[C, P]
	code  uintptr // of the host, or that of to has none and gen is void
}

const (
	regions      = 1 << 6
	regionShift  = 22 // as large as the pages of most kernels' code
	landings     = 1 << 12
	landingShift = 12
	threadHeat   = 3   // executions of a block before it becomes threaded code
	threadBytes  = 120 // of the host, about, for an instruction
	// threadTurn is how many instructions follow each other before Run looks around, and with it the runtime of the host,
	// which cannot stop code that is not its own.
	threadTurn = 1 << 18
)

func placeOfLanding(pc uint64) uint64 { return (pc ^ pc>>landingShift) & (landings - 1) }

// regionOf returns the generation of the region of an address. None is zero when a way has been made.
func (e *Engine[C, P]) regionOf(pc uint64) *uint64 { return &e.regions[pc>>regionShift&(regions-1)] }

// voidWays has all ways lead nowhere.
func (e *Engine[C, P]) voidWays() {
	for i := range e.regions {
		e.regions[i]++
	}
}

// replacedCode voids the ways to a translation of code that was replaced, or all when the TLB has changed more often.
// A translation that was dropped on the way counts.
func (e *Engine[C, P]) replacedCode(n uint64) {
	if out := e.ITLB.Out(); n == 1 && out.Shift <= regionShift {
		*e.regionOf(out.VA)++
		return
	}
	e.voidWays()
}

// After returns the instruction behind q in its block's threaded code.
func After[C, P any](q *Thread[C, P]) *Thread[C, P] {
	return (*Thread[C, P])(unsafe.Add(unsafe.Pointer(q), unsafe.Sizeof(*q)))
}

// Slow returns what executes the instruction q as code is that is not threaded. It is a place in memory and no call, so
// that the functions of instructions are leaves.
func Slow[C, P any](q *Thread[C, P]) *Thread[C, P] {
	return (*Thread[C, P])(unsafe.Add(unsafe.Pointer(q), q.Ways.slow))
}

// Behind leaves a block for the one behind it.
func (e *Engine[C, P]) Behind(q *Thread[C, P]) *Thread[C, P] {
	w := &q.Ways.behind
	if e.left -= q.Ways.n; w.gen != *w.now || e.left <= 0 {
		return w.out
	}
	return w.to
}

// Taken leaves a block for where its branch goes.
func (e *Engine[C, P]) Taken(q *Thread[C, P]) *Thread[C, P] { return e.Branch(q, true) }

// Branch leaves a block by a conditional branch.
func (e *Engine[C, P]) Branch(q *Thread[C, P], taken bool) *Thread[C, P] {
	w := &q.Ways.behind
	if taken {
		w = &q.Ways.taken
	}
	if e.left -= q.Ways.n; w.gen != *w.now || e.left <= 0 {
		return w.out
	}
	return w.to
}

// To leaves a block for an address that was computed.
func (e *Engine[C, P]) To(q *Thread[C, P], pc uint64) *Thread[C, P] {
	j := &e.landings[placeOfLanding(pc)]
	if e.left -= q.Ways.n; j.pc != pc || j.gen != *j.now || j.phase != e.phase || e.left <= 0 {
		e.R[PC] = pc
		return &q.Ways.outs[outElsewhere]
	}
	return j.to
}

// leaveBy leaves threaded code by one of a block's outs.
func (e *Engine[C, P]) leaveBy(_ *C, q *Thread[C, P]) *Thread[C, P] {
	w := &q.Ways.behind
	switch q.At {
	case outElsewhere:
		e.block = q.Ways.block
		return nil
	case outTaken:
		w = &q.Ways.taken
	}
	e.block, e.from, e.want, e.R[PC] = q.Ways.block, q.Ways.block, w, w.pc
	return nil
}

// Leave leaves threaded code behind a block whose last instruction was executed generally.
func (e *Engine[C, P]) Leave(q *Thread[C, P]) *Thread[C, P] {
	e.left -= q.Ways.n
	e.block = q.Ways.block
	return nil
}

// generally is what Slow leads to.
func (e *Engine[C, P]) generally(_ *C, q *Thread[C, P]) *Thread[C, P] {
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
	return (*Thread[C, P])(unsafe.Add(unsafe.Pointer(q), unsafe.Sizeof(*q)-q.Ways.slow)) // behind the place of q's own
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
		e.left += int(min((e.until-e.retire-1)/e.quick.each+1, threadTurn))
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
	if e.landings == nil {
		e.landings, e.slow, e.out = new([landings]landing[C, P]), e.generally, e.leaveBy
		for i := range e.landings {
			e.landings[i].now = e.regionOf(0)
		}
		e.setupNative()
	}
	code, taken := e.threader.Thread(b.insns, b.ops, b.plain)
	b.thread = e.weave(b, code, taken)
	if e.held += 2*threadBytes*len(code) + e.taken(); e.held > e.limit {
		e.Check |= checkStore
	}
	return b.thread
}

// weave puts a block's threaded code together. Each instruction has a place for itself, and one for Slow behind the
// places of all, where it does not fill the host's cache.
func (e *Engine[C, P]) weave(b *Block[C, P], code []Thread[C, P], taken uint64) *Thread[C, P] {
	ways := &Ways[C, P]{n: len(b.insns), block: b}
	for i := range ways.outs {
		ways.outs[i] = Thread[C, P]{Exec: e.out, At: i, Ways: ways}
	}
	ways.behind = way[C, P]{pc: b.end, now: e.regionOf(b.end), out: &ways.outs[outBehind]}
	ways.taken = way[C, P]{pc: taken, now: e.regionOf(taken), out: &ways.outs[outTaken]}
	n := len(code)
	ways.slow = uintptr(n) * unsafe.Sizeof(code[0])
	all := make([]Thread[C, P], 2*n)
	for i, q := range code {
		q.Ways, q.Next, q.General = ways, b.insns[q.At].next, b.insns[q.At].Exec
		all[i], all[n+i] = q, q
		all[n+i].Exec = e.slow
	}
	e.generate(ways, all[:n])
	return &all[0]
}

// follow executes threaded code until it is left.
//
//go:noinline
func follow[C, P any](c *C, q *Thread[C, P]) {
	for q != nil {
		q = q.Exec(c, q)
	}
}

// runThreads is runUntimed from a block that is threaded code, which some code may have been left for.
func (e *Engine[C, P]) runThreads(b *Block[C, P], limit clock.Ticks) {
	t := b.thread
	if b.watched <= b.pc && !b.stops {
		now := e.regionOf(b.pc)
		if t.code != 0 || e.native == nil {
			e.landings[placeOfLanding(b.pc)] = landing[C, P]{b.pc, *now, now, e.phase, t, t.code}
		}
		if w := e.want; w != nil && w.pc == b.pc && e.from.phase == b.phase {
			w.gen, w.to = *now, t
			if w.slot != nil && t.code != 0 {
				*w.slot = [2]uint64{*now, uint64(t.code)}
			}
		}
	}
	e.want, e.from = nil, nil
	e.until, e.settled = min(limit, e.quick.until), 0
	e.allow(0)
	follow(e.self, t)
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
	return e.at(va & pageMask)
}

// Writable is Readable for a store. Bytes that somebody has decoded are none.
func (c *Core) Writable(va, n uint64) unsafe.Pointer {
	e := &c.micro[va>>pageShift&(microEntries-1)]
	off := va & pageMask
	if e.write != va>>pageShift+c.microGen || off > pageBytes-n || c.codeMap[e.base>>pageShift] != 0 {
		return nil
	}
	return e.at(off)
}

// AtOnce reports that no cost model and no cache looks at single accesses, so that several may be made by way of
// Readable and Writable.
func (c *Core) AtOnce() bool { return c.warps() }
