package engine

import (
	"math/bits"
	"unsafe"

	h "kprobesim/internal/hostcode"
	"kprobesim/mmu"
)

// The code of blocks brings the line of a load that misses the first level in by code of the host, as mmu.Levels.Load does.
// It is written once for all blocks, at the beginning of their room.

// What it keeps in registers. regPA is the physical address at first, and keeps Main afterwards.
const (
	regLine = h.Local1
	regTag  = h.Local2
	regWays = h.Local3 // of the line in all caches
	regAt   = h.Local4 // where the host has them
	regSet  = h.Local5
	regLeft = h.Local6
	regAll  = h.Local7 // the places of all lines
	regPA   = h.Local8
	regList = h.Local9 // elements of something
)

// noPlace is the number of misses when nothing was done, because the line has no place yet.
const noPlace = 4

// levelsCode writes the code, to be called. In Spare it returns the number of caches that had the line not. All other
// registers change but Main.
type levelsCode struct {
	*h.Asm
	at mmu.Layout
}

func (w *levelsCode) write() {
	none, leave := w.NewLabel(), w.NewLabel()
	w.Mov(8, regLine, regPA)
	w.ShiftImm(h.Shr, 8, regLine, uint8(w.at.Shift))
	w.Lea(4, regTag, h.At(regLine, 1))
	// The place of the line, which is there when the slice is that long.
	w.Const(regList, uint64(uintptr(w.at.Places)))
	w.OpLoad(h.Cmp, 8, regTag, h.At(regList, 8))
	w.Jcc(h.AboveOrEq, none)
	w.Load(8, regAll, h.At(regList, 0))
	w.Lea(8, regAt, h.Mem{Base: regAll, Index: regTag, Shift: 2})
	w.Load(4, regWays, h.At(regAt, 0))
	w.Mov(8, regPA, h.Main)
	for i := range w.at.Levels {
		w.level(i, leave)
	}
	w.Store(4, h.At(regAt, 0), regWays)
	w.Const(h.Spare, 3)
	w.Bind(leave)
	w.Mov(8, h.Main, regPA)
	w.Ret()
	w.Bind(none)
	w.Const(h.Spare, noPlace)
	w.Ret()
}

// level looks a line up in a cache, and leaves when that has it.
func (w *levelsCode) level(i int, leave h.Label) {
	c, miss := &w.at.Levels[i], w.NewLabel()
	if i == 0 {
		w.Mov(4, regSet, regLine)
		w.OpImm(h.And, 4, regSet, int32(c.Mask))
		w.Const(regList, uint64(uintptr(c.Recent)))
		w.Store(4, h.Mem{Base: regList, Index: regSet, Shift: 2}, regTag)
	} else {
		w.set(c)
	}
	w.Const(regList, uint64(uintptr(c.Idle)))
	idle := h.Mem{Base: regList, Index: regSet, Shift: 2}
	w.Mov(4, h.Spare, regWays)
	w.ShiftImm(h.Shr, 4, h.Spare, uint8(c.Column))
	w.OpImm(h.And, 4, h.Spare, mmu.PlaceColumn)
	w.Jcc(h.Equal, miss)

	w.OpImm(h.Sub, 4, h.Spare, 1)
	w.Const(regLeft, 1)
	w.ShiftCL(h.Shl, 4, regLeft)
	w.One(h.Not, 4, regLeft)
	w.Load(4, h.Spare, idle)
	w.without(c)
	w.Store(4, idle, regLeft)
	if i != 0 {
		w.Store(4, h.At(regAt, 0), regWays)
	}
	w.Const(h.Spare, uint64(i))
	w.Jmp(leave)

	w.Bind(miss)
	w.Load(4, h.Spare, idle)
	w.Lea(4, regLeft, h.At(h.Spare, -1))
	w.LowestBit(4, h.Main, h.Spare)
	w.without(c)
	w.Store(4, idle, regLeft)
	w.Lea(4, h.Spare, h.At(h.Main, 1))
	w.ShiftImm(h.Shl, 4, h.Spare, uint8(c.Column))
	w.Op(h.Or, 4, regWays, h.Spare)
	w.MultiplyImm(4, regSet, regSet, int32(c.Ways))
	w.Op(h.Add, 4, regSet, h.Main)
	w.Const(regList, uint64(uintptr(c.Tags)))
	tag := h.Mem{Base: regList, Index: regSet, Shift: 2}
	w.Load(4, h.Spare, tag)
	w.Store(4, tag, regTag)
	gone := ^(uint32(mmu.PlaceColumn) << c.Column) // what went has no way any more
	w.OpMemImm(h.And, 4, h.Mem{Base: regAll, Index: h.Spare, Shift: 2}, int32(gone))
}

// without takes the idle ways of a set in Spare and a mask in regLeft, which keeps those of them that stay idle. Spare
// changes.
func (w *levelsCode) without(c *mmu.LevelLayout) {
	w.Mov(4, h.Other, h.Spare)
	w.OpImm(h.Xor, 4, h.Other, int32(c.Others))
	w.Op(h.And, 4, regLeft, h.Spare)
	w.Cmov(h.Equal, 4, regLeft, h.Other)
}

// set has regSet be the set of the line. Main, Spare and Other change.
func (w *levelsCode) set(c *mmu.LevelLayout) {
	if bits.OnesCount32(c.Sets) == 1 {
		w.Mov(4, regSet, regLine)
		w.OpImm(h.And, 4, regSet, int32(c.Sets-1))
		return
	}
	w.Const(h.Main, c.Part)
	w.Multiply(8, h.Main, regLine)
	w.Const(h.Spare, uint64(c.Sets))
	w.One(h.Mul, 8, h.Spare)
	w.Mov(8, regSet, h.Other) // the upper half
}

// bring brings the line of a load of size bytes in that are in Main, for the code of an instruction: what missing costs is
// noted as loadOther does. Where nothing has been done the load is left to its function.
func (g *Timed) bring(size int) {
	c := g.c
	num := func(p *uint64) h.Mem { return number(&g.modelWriter, p) }
	time := func(p *ticks) h.Mem { return number(&g.modelWriter, p) }
	resting, ready, input := g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.OpMemImm(h.Cmp, 4, g.short(&c.memo.pause), 0)
	g.Jcc(h.NotEqual, resting)
	g.OpMemImm(h.Cmp, 8, num(&c.course), oneInput)
	g.Jcc(h.GreaterOrEq, g.Slow())
	g.Bind(resting)
	if size >= 4 {
		g.foresee(size)
	}
	g.CallTo(c.model.levels)
	g.OpImm(h.Cmp, 4, h.Spare, noPlace)
	g.Jcc(h.Equal, g.Slow())
	g.Op(h.Test, 4, h.Spare, h.Spare)
	g.Jcc(h.Equal, ready)
	g.OpMemImm(h.Add, 8, num(&c.Counts.L1DMisses), 1)
	g.Mov(4, h.Other, h.Spare)
	g.ShiftImm(h.Shr, 4, h.Other, 1)
	g.OpStore(h.Add, 8, num(&c.Counts.L2Misses), h.Other)
	latency := time(&c.latencies[0])
	latency.Index, latency.Shift = h.Spare, 3
	g.Load(8, h.Spare, latency)
	g.OpImm(h.Sub, 8, h.Spare, int32(c.l1Lat))
	g.Jcc(h.LessOrEq, ready)
	g.OpStore(h.Add, 8, time(&c.step.Stalls.DCache), h.Spare)
	g.OpMemImm(h.Cmp, 4, g.short(&c.memo.pause), 0)
	g.Jcc(h.Equal, input)
	g.OpStore(h.Add, 8, time(&c.acc[g.insn].miss), h.Spare)
	g.Const(h.Spare, oddBit(g.insn)|oddAccess)
	g.OpStore(h.Or, 8, num(&c.odd), h.Spare)
	g.Jmp(ready)
	g.Bind(input)
	g.ShiftImm(h.Shl, 8, h.Spare, 16)
	g.OpImm(h.Or, 8, h.Spare, int32(g.insn)<<8|inMiss)
	g.Store(8, num(&c.memo.inputs[0]), h.Spare)
	g.OpMemImm(h.Add, 8, num(&c.course), oneInput)
	g.Bind(ready)
}

// foresee asks the host's caches for what an operand may lead to, as loadOther does. All registers change but Main and
// Local8.
func (g *Timed) foresee(size int) {
	var m microEntry
	none := g.NewLabel()
	g.Mov(size, h.Local9, h.Main)
	if g.c.swapped {
		g.Swap(size, h.Local9)
	}
	g.Mov(8, h.Spare, h.Local9)
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.Mov(4, h.Other, h.Spare)
	g.OpLoad(h.Add, 8, h.Spare, number(&g.modelWriter, &g.c.microGen))
	g.OpImm(h.And, 4, h.Other, microEntries-1)
	g.ShiftImm(h.Shl, 4, h.Other, microShift)
	g.OpLoad(h.Cmp, 8, h.Spare, g.micro(unsafe.Offsetof(m.read)))
	g.Jcc(h.NotEqual, none)
	g.OpImm(h.And, 4, h.Local9, pageMask)
	g.OpLoad(h.Add, 8, h.Local9, g.micro(unsafe.Offsetof(m.page)))
	g.Prefetch(h.At(h.Local9, 0))
	g.lookAhead()
	g.Bind(none)
}

// lookAhead is Core.lookAhead of the target that Local9 leads to.
func (g *Timed) lookAhead() {
	c := g.c
	if c.ahead == nil {
		c.ahead = new(ahead)
	}
	a := c.ahead
	const ram, line, last, at = h.Local1, h.Local2, h.Local3, h.Local4
	field := func(p unsafe.Pointer, index h.Reg) h.Mem {
		return h.Mem{Base: h.Spare, Index: index, Shift: 2, Disp: int32(uintptr(p) - uintptr(unsafe.Pointer(a)))}
	}
	plain := func(p *uint64) h.Mem { return field(unsafe.Pointer(p), h.NoReg) }
	look, unmarked, known, done := g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.Const(h.Spare, uint64(uintptr(unsafe.Pointer(a))))
	g.OpMemImm(h.Cmp, 8, plain(&a.idle), 0)
	g.Jcc(h.Equal, look)
	g.OpMemImm(h.Sub, 8, plain(&a.idle), 1)
	g.Jmp(done)
	g.Bind(look)
	g.Const(ram, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(c.ram)))))
	g.Mov(8, line, h.Local9)
	g.Op(h.Sub, 8, line, ram)
	g.ShiftImm(h.Shr, 8, line, aheadShift)
	g.Load(8, at, plain(&a.at))
	g.OpMemImm(h.Add, 8, plain(&a.at), 1)
	g.OpLoad(h.Cmp, 4, line, field(unsafe.Pointer(&a.mark), h.NoReg))
	g.Jcc(h.NotEqual, unmarked)
	g.Mov(8, last, at)
	g.OpLoad(h.Sub, 8, last, plain(&a.marked))
	g.OpImm(h.Cmp, 8, last, aheadLeast)
	g.Jcc(h.AboveOrEq, unmarked)
	g.StoreImm(8, plain(&a.idle), aheadIdle)
	g.Bind(unmarked)
	g.OpImm(h.Test, 4, at, aheadMarks-1)
	g.Jcc(h.NotEqual, known)
	g.Store(4, field(unsafe.Pointer(&a.mark), h.NoReg), line)
	g.Store(8, plain(&a.marked), at)
	g.Bind(known)
	g.OpImm(h.And, 4, at, aheadBy-1)
	g.Load(4, last, field(unsafe.Pointer(&a.last), at))
	g.Store(4, field(unsafe.Pointer(&a.last), at), line)
	g.OpImm(h.And, 4, last, aheadLines-1)
	g.Store(4, field(unsafe.Pointer(&a.later), last), line)
	g.OpImm(h.And, 4, line, aheadLines-1)
	g.Load(4, last, field(unsafe.Pointer(&a.later), line))
	g.ShiftImm(h.Shl, 8, last, aheadShift)
	g.Prefetch(h.Mem{Base: ram, Index: last})
	g.Bind(done)
}

// micro is a field of the entry of the micro-TLB that Other leads to.
func (g *Timed) micro(field uintptr) h.Mem {
	x := g.field(unsafe.Pointer(&g.c.micro))
	x.Index = h.Other
	x.Disp += int32(field)
	return x
}
