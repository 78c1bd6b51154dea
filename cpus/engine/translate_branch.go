package engine

import (
	"unsafe"

	h "kprobesim/internal/hostcode"
)

// chains has what leads from the code of one block to another one's. A way holds while nothing has changed in the region
// of its target: a translation that the TLB replaces by another one voids the ways to its region, and so does a store
// into code there. Ways to other regions would hit the TLB again, which changes nothing.
type chains struct {
	regions  [regions]uint64           // generations
	others   [Contexts][regions]uint64 // the same of translation contexts that were left
	last     uint64                    // the last generation of any
	landings *[landings]landing        // by the address of a target; nil until a block is translated
	turn     ticks                     // when code is left for Run to look around
}

// landing is where the code for a computed target was found.
type landing struct {
	pc, gen uint64
	code    uintptr
	region  uint32 // index of its region
	phase   uint8
}

const (
	regions      = 1 << 6
	regionShift  = 22 // as large as the pages of most kernels' code
	landings     = 1 << 12
	landingShift = 12
	landingBytes = 5 // logarithm of the bytes of a landing
)

// landingOf returns where the landing of an address is kept.
func (w *chains) landingOf(pc uint64) *landing {
	return &w.landings[(pc^pc>>landingShift)&(landings-1)]
}

// regionOf returns the index of the region of an address.
func regionOf(pc uint64) uint32 { return uint32(pc >> regionShift & (regions - 1)) }

// voidWays has all ways lead nowhere.
func (w *chains) voidWays() {
	if w.landings == nil {
		return
	}
	for i := range w.regions {
		w.last++
		w.regions[i] = w.last
	}
}

// voidRegion has the ways to the region of an address lead nowhere, in all contexts.
func (w *chains) voidRegion(pc uint64) {
	r := regionOf(pc)
	w.last++
	w.regions[r] = w.last
	for i := range w.others {
		w.others[i][r] = 0
	}
}

// switchWays keeps the generations of one context, and takes another one's, if it has any that hold.
func (w *chains) switchWays(from, to uint8, hold bool) {
	if w.landings == nil {
		return
	}
	w.others[from] = w.regions
	if !hold {
		w.voidWays()
		return
	}
	w.regions = w.others[to]
	for i, gen := range w.regions {
		if gen == 0 {
			w.last++
			w.regions[i] = w.last
		}
	}
}

// replacedCode voids the ways to a translation of code that was replaced, or all when the TLB has changed more often.
// A translation that was dropped on the way counts.
func (e *Engine[C, P]) replacedCode(n uint64) {
	if out := e.ITLB.Out(); n == 1 && out.Shift <= regionShift {
		e.chains.voidRegion(out.VA)
		return
	}
	e.chains.voidWays()
}

// Behind ends the block, which goes on behind itself.
func (g *Code) Behind() { g.tail(wayBehind) }

// Goto ends the block by a direct branch, which needs no prediction.
func (g *Code) Goto(to uint64) {
	if g.timed {
		g.OpMemImm(h.Or, 8, g.number64(&g.c.outcome), taken)
		g.looped(to & g.c.AddrMask)
	}
	g.take(to)
}

// Branch ends the block by a direct branch that is taken if the host's flags have a condition. It is predicted. Tagged
// tables are left to the reference function.
func (g *Code) Branch(cond h.Cond, to uint64) {
	if g.declined = g.timed && g.c.tagged != nil; g.declined {
		return
	}
	isTaken := g.NewLabel()
	g.Jcc(cond, isTaken)
	if g.timed {
		g.Const(h.Spare, g.predicted())
		g.CallTo(g.routines.untaken)
		g.leftLoop()
	}
	g.tail(wayBehind)
	g.Bind(isTaken)
	if g.timed {
		g.Const(h.Spare, g.predicted())
		g.CallTo(g.routines.taken)
		g.looped(to & g.c.AddrMask)
	}
	g.take(to)
}

// Called notes the address behind the present instruction as that of a return, as Core.Called does.
func (g *Code) Called() {
	if g.timed {
		g.Const(h.Main, g.next)
		g.CallTo(g.routines.called)
	}
}

// Return ends the block by a return to the address in Main. Those that may be predicted by targets are left to the reference function.
func (g *Code) Return() {
	if g.declined = g.timed && g.c.byTarget; g.declined {
		return
	}
	g.Store(8, g.Register(PC), h.Main)
	if g.timed {
		g.CallTo(g.routines.returned)
	}
	g.tail(wayElsewhere)
}

// Indirect ends the block by a branch to the address in Main that was computed. First guesses are left to the reference function.
func (g *Code) Indirect() {
	if g.declined = g.timed && g.c.first != nil; g.declined {
		return
	}
	g.Store(8, g.Register(PC), h.Main)
	if g.timed {
		g.Const(h.Spare, g.predicted())
		g.CallTo(g.routines.indirect)
	}
	g.tail(wayElsewhere)
}

// predicted is the part of the present branch's address that its place in a predictor's table is made of.
func (g *Code) predicted() uint64 { return uint64(uint32(g.next >> (g.c.tshift & 63))) }

// take leads to the target of a direct branch.
func (g *Code) take(to uint64) {
	g.out.ways[wayTaken].pc = to & g.c.AddrMask
	g.tail(wayTaken)
}

// tail writes what stands behind the last instruction: the block's time, and the way to the next block. Ways are no part
// of the code: the host would have to look at it anew whenever one changes.
func (g *Code) tail(by int) {
	if g.timed {
		g.settleCode(by)
	} else {
		n := int32(len(g.ops))
		g.OpMemImm(h.Add, 8, g.number64(&g.c.count), n)
		g.OpMemImm(h.Add, 8, g.time(&g.c.retire), n*int32(g.c.untimed.each))
	}
	left := g.exit(exitBehind, by)
	if by == wayElsewhere {
		g.Load(8, h.Main, g.Register(PC))
	}
	g.Load(8, h.Spare, g.time(&g.c.retire))
	g.OpLoad(h.Cmp, 8, h.Spare, g.time(&g.c.chains.turn))
	g.Jcc(h.GreaterOrEq, left)
	if by == wayElsewhere {
		g.land(left)
		return
	}
	to := &g.out.ways[by]
	g.Load(8, h.Spare, g.number64(&g.c.chains.regions[regionOf(to.pc)]))
	g.Const(h.Other, uint64(uintptr(unsafe.Pointer(to))))
	g.OpLoad(h.Cmp, 8, h.Spare, h.At(h.Other, int32(unsafe.Offsetof(to.gen))))
	g.Jcc(h.NotEqual, left)
	g.JmpMem(h.At(h.Other, int32(unsafe.Offsetof(to.code))))
}

// land leads to the code of the block at the address in Main.
func (g *Code) land(left h.Label) {
	var j landing
	field := func(at uintptr) h.Mem { return h.At(h.Other, int32(at)) }
	g.Mov(8, h.Spare, h.Main)
	g.ShiftImm(h.Shr, 8, h.Spare, landingShift)
	g.Op(h.Xor, 4, h.Spare, h.Main)
	g.OpImm(h.And, 4, h.Spare, landings-1)
	g.ShiftImm(h.Shl, 4, h.Spare, landingBytes)
	g.Load(8, h.Other, g.Field(unsafe.Pointer(&g.c.chains.landings)))
	g.Op(h.Add, 8, h.Other, h.Spare)
	g.OpLoad(h.Cmp, 8, h.Main, field(unsafe.Offsetof(j.pc)))
	g.Jcc(h.NotEqual, left)
	g.Load(4, h.Spare, field(unsafe.Offsetof(j.region)))
	gen := g.Field(unsafe.Pointer(&g.c.chains.regions))
	gen.Index, gen.Shift = h.Spare, 3
	g.Load(8, h.Spare, gen)
	g.OpLoad(h.Cmp, 8, h.Spare, field(unsafe.Offsetof(j.gen)))
	g.Jcc(h.NotEqual, left)
	g.Load(1, h.Spare, field(unsafe.Offsetof(j.phase)))
	g.OpLoad(h.Cmp, 1, h.Spare, g.Field(unsafe.Pointer(&g.c.phase)))
	g.Jcc(h.NotEqual, left)
	g.JmpMem(field(unsafe.Offsetof(j.code)))
}

// checkLines writes the look at the lines of a block. To fetch those again that their sets used last changes nothing.
func (g *Code) checkLines(lines ...uint32) {
	if !g.timed {
		return
	}
	for _, line := range lines {
		if line == 0 {
			continue
		}
		fetch := lineFetch{g.NewLabel(), g.NewLabel(), line}
		g.fetches = append(g.fetches, fetch)
		g.Load(8, h.Spare, g.Field(unsafe.Pointer(&g.c.iRecent)))
		g.OpMemImm(h.Cmp, 4, h.At(h.Spare, int32(4*((line-1)&g.c.iMask))), int32(line))
		g.Jcc(h.NotEqual, fetch.other)
		g.Bind(fetch.there)
	}
}

// lineFetch is a line of a block that its set did not use last.
type lineFetch struct {
	other, there h.Label
	line         uint32
}

// fetchOthers writes what is seldom at the entry of a block: a line that is in the cache, and not the one used last.
func (g *Code) fetchOthers() {
	for _, f := range g.fetches {
		g.Bind(f.other)
		g.Const(h.Spare, uint64(f.line))
		g.Const(h.Other, uint64((f.line-1)&g.c.iMask))
		g.CallTo(g.routines.bringFetch)
		g.Jcc(h.Below, g.exit(exitEnter, 0)) // the carry
		g.Jmp(f.there)
	}
}

// looped writes what Core.looped does of a branch that is taken to an address.
func (g *Code) looped(to uint64) {
	c := g.c
	if !c.loops {
		return
	}
	l := &c.loop
	g.Const(h.Local1, g.next)
	g.Const(h.Local2, to)
	if to >= g.next {
		stays := g.NewLabel()
		g.OpMemImm(h.Cmp, 8, g.number64(&l.passes), 0)
		g.Jcc(h.Equal, stays)
		g.CallTo(g.routines.forward)
		g.Bind(stays)
		return
	}
	g.Const(h.Local3, uint64(g.insn))
	if (g.next-1)>>(l.shift&63)-to>>(l.shift&63) >= l.windows {
		g.StoreImm(8, g.number64(&l.passes), 0) // as outside of a loop
	}
	g.CallTo(g.routines.backward)
}

// leftLoop writes what Core.Conditional does of a branch that is not taken when a loop ends with it.
func (g *Code) leftLoop() {
	l := &g.c.loop
	if !g.c.loops {
		return
	}
	stays := g.NewLabel()
	g.OpMemImm(h.Cmp, 8, g.number64(&l.passes), streaming)
	g.Jcc(h.NotEqual, stays)
	g.Const(h.Spare, g.next)
	g.OpLoad(h.Cmp, 8, h.Spare, g.number64(&l.from))
	g.Jcc(h.NotEqual, stays)
	g.StoreImm(8, g.number64(&l.passes), 0)
	g.Bind(stays)
}

// writeBranches writes the routines that branches of timed code call.
func (g *Code) writeBranches() {
	r := &g.routines
	r.untaken = g.routine(g.trainUntaken)
	r.taken = g.routine(g.trainTaken)
	r.called = g.routine(g.noteCall)
	r.returned = g.routine(g.predictReturn)
	r.indirect = g.routine(g.predictTarget)
	r.forward = g.routine(g.loopForward)
	r.backward = g.routine(g.loopBackward)
}

// counter has Other lead to the counter of a branch with the address in Spare, as predictor.counter finds it, and shifts
// a direction into the history.
func (g *Code) counter(direction int32) {
	c := g.c
	history := g.Field(unsafe.Pointer(&c.history))
	g.OpMemImm(h.Add, 8, g.number64(&c.Counts.Branches), 1)
	g.Load(4, h.Local1, history)
	g.Lea(4, h.Local1, h.Mem{Base: h.Local1, Index: h.Local1})
	g.Op(h.Xor, 4, h.Spare, h.Local1)
	g.OpImm(h.And, 4, h.Spare, int32(c.cmask))
	if direction != 0 {
		g.OpImm(h.Or, 4, h.Local1, direction)
	}
	g.OpImm(h.And, 4, h.Local1, int32(c.histMask))
	g.Store(4, history, h.Local1)
	g.Load(8, h.Other, g.Field(unsafe.Pointer(&c.counters)))
	g.Op(h.Add, 8, h.Other, h.Spare)
	g.Load(1, h.Spare, h.At(h.Other, 0))
}

// wrong counts a wrong prediction.
func (g *Code) wrong() {
	g.OpMemImm(h.Add, 8, g.number64(&g.c.Counts.Mispredicts), 1)
	g.OpMemImm(h.Or, 8, g.number64(&g.c.outcome), mispredicted)
}

// trainTaken does what Core.TrainTaken and Go do.
func (g *Code) trainTaken() {
	sure := g.NewLabel()
	g.counter(1)
	g.OpMemImm(h.Or, 8, g.number64(&g.c.outcome), taken)
	g.OpImm(h.Cmp, 4, h.Spare, 3)
	g.Jcc(h.Equal, sure)
	g.OpImm(h.Add, 4, h.Spare, 1)
	g.Store(1, h.At(h.Other, 0), h.Spare)
	g.OpImm(h.Cmp, 4, h.Spare, 2)
	g.Jcc(h.Above, sure)
	g.wrong()
	g.Bind(sure)
}

// trainUntaken does what Core.TrainUntaken does.
func (g *Code) trainUntaken() {
	sure := g.NewLabel()
	g.counter(0)
	g.Op(h.Test, 4, h.Spare, h.Spare)
	g.Jcc(h.Equal, sure)
	g.OpImm(h.Sub, 4, h.Spare, 1)
	g.Store(1, h.At(h.Other, 0), h.Spare)
	g.Jcc(h.Equal, sure)
	g.wrong()
	g.Bind(sure)
}

// noteCall does what Core.Called does of the address in Main.
func (g *Code) noteCall() {
	c := g.c
	top, depth, size := g.Field(unsafe.Pointer(&c.top)), g.Field(unsafe.Pointer(&c.depth)), int32(len(c.returns))
	g.StoreImm(8, g.number64(&c.loop.passes), 0)
	g.Load(8, h.Spare, top)
	g.Const(h.Other, 0)
	g.OpImm(h.Add, 8, h.Spare, 1)
	g.OpImm(h.Cmp, 8, h.Spare, size)
	g.Cmov(h.Equal, 8, h.Spare, h.Other)
	g.Store(8, top, h.Spare)
	g.Load(8, h.Other, g.Field(unsafe.Pointer(&c.returns)))
	g.Store(8, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3}, h.Main)
	g.Load(8, h.Spare, depth)
	g.Lea(8, h.Other, h.At(h.Spare, 1))
	g.OpImm(h.Cmp, 8, h.Spare, size)
	g.Cmov(h.Less, 8, h.Spare, h.Other)
	g.Store(8, depth, h.Spare)
}

// predictReturn does what Core.ReturnTo does of the address in Main.
func (g *Code) predictReturn() {
	c := g.c
	top, depth := g.Field(unsafe.Pointer(&c.top)), g.Field(unsafe.Pointer(&c.depth))
	none, right := g.NewLabel(), g.NewLabel()
	g.branched()
	g.Const(h.Local1, 0)
	g.Load(8, h.Local2, depth)
	g.Op(h.Test, 8, h.Local2, h.Local2)
	g.Jcc(h.Equal, none)
	g.OpImm(h.Sub, 8, h.Local2, 1)
	g.Store(8, depth, h.Local2)
	g.Load(8, h.Spare, top)
	g.Load(8, h.Other, g.Field(unsafe.Pointer(&c.returns)))
	g.Load(8, h.Local1, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3})
	g.Const(h.Other, uint64(len(c.returns)-1))
	g.OpImm(h.Sub, 8, h.Spare, 1)
	g.Cmov(h.Less, 8, h.Spare, h.Other)
	g.Store(8, top, h.Spare)
	g.Bind(none)
	g.Op(h.Cmp, 8, h.Local1, h.Main)
	g.Jcc(h.Equal, right)
	g.wrong()
	g.Bind(right)
}

// predictTarget does what Core.Indirect does of the address in Main and that of the branch in Spare.
func (g *Code) predictTarget() {
	c := g.c
	history, right := g.Field(unsafe.Pointer(&c.history)), g.NewLabel()
	g.branched()
	g.Load(4, h.Other, history)
	g.Mov(4, h.Local1, h.Other)
	g.OpImm(h.And, 4, h.Local1, int32(c.thist))
	g.Op(h.Xor, 4, h.Spare, h.Local1)
	g.OpImm(h.And, 4, h.Spare, int32(c.tmask))
	g.Load(8, h.Local1, g.Field(unsafe.Pointer(&c.targets)))
	g.Lea(8, h.Local1, h.Mem{Base: h.Local1, Index: h.Spare, Shift: 3})
	g.Load(8, h.Spare, h.At(h.Local1, 0))
	g.Store(8, h.At(h.Local1, 0), h.Main)
	if c.tpath {
		g.ShiftImm(h.Shl, 4, h.Other, 2)
		g.Mov(8, h.Local1, h.Main)
		g.ShiftImm(h.Shr, 8, h.Local1, 4)
		g.Op(h.Xor, 4, h.Other, h.Local1)
		g.OpImm(h.And, 4, h.Other, int32(c.histMask))
		g.Store(4, history, h.Other)
	}
	g.Op(h.Cmp, 8, h.Spare, h.Main)
	g.Jcc(h.Equal, right)
	g.wrong()
	g.Bind(right)
}

// branched counts a branch that is taken and whose target is computed.
func (g *Code) branched() {
	g.StoreImm(8, g.number64(&g.c.loop.passes), 0)
	g.OpMemImm(h.Add, 8, g.number64(&g.c.Counts.Branches), 1)
	g.OpMemImm(h.Or, 8, g.number64(&g.c.outcome), taken)
}

// loopForward does what Core.looped does of a branch forward from Local1 to Local2.
func (g *Code) loopForward() {
	l := &g.c.loop
	leaves, stays := g.NewLabel(), g.NewLabel()
	g.OpLoad(h.Cmp, 8, h.Local2, g.number64(&l.to))
	g.Jcc(h.Below, leaves)
	g.OpLoad(h.Cmp, 8, h.Local2, g.number64(&l.from))
	g.Jcc(h.Below, stays)
	g.Bind(leaves)
	g.StoreImm(8, g.number64(&l.passes), 0)
	g.Bind(stays)
}

// loopBackward does what Core.looped does of a branch backward from Local1 to Local2, which is instruction Local3.
func (g *Code) loopBackward() {
	c := g.c
	l := &c.loop
	first, note := g.NewLabel(), g.NewLabel()
	// What Core.executed does: code is entered with nothing settled.
	g.OpLoad(h.Add, 8, h.Local3, g.number64(&c.Counts.Instructions))
	g.OpLoad(h.Add, 8, h.Local3, g.number64(&c.count))
	g.Load(8, h.Spare, g.number64(&l.passes))
	g.Op(h.Test, 8, h.Spare, h.Spare)
	g.Jcc(h.Equal, first)
	g.OpLoad(h.Cmp, 8, h.Local1, g.number64(&l.from))
	g.Jcc(h.NotEqual, first)
	g.OpLoad(h.Cmp, 8, h.Local2, g.number64(&l.to))
	g.Jcc(h.NotEqual, first)
	g.Mov(8, h.Other, h.Local3)
	g.OpLoad(h.Sub, 8, h.Other, g.number64(&l.at))
	g.OpLoad(h.Cmp, 8, h.Other, g.number64(&l.size))
	g.Jcc(h.Above, first)
	g.OpImm(h.Cmp, 8, h.Spare, streaming)
	g.Jcc(h.AboveOrEq, note)
	g.ShiftImm(h.Shl, 8, h.Spare, 1)
	g.Store(8, g.number64(&l.passes), h.Spare)
	g.Jmp(note)
	g.Bind(first)
	g.StoreImm(8, g.number64(&l.passes), 1)
	g.Bind(note)
	g.Store(8, g.number64(&l.from), h.Local1)
	g.Store(8, g.number64(&l.to), h.Local2)
	g.Store(8, g.number64(&l.at), h.Local3)
}
