package engine

import (
	"unsafe"

	h "kprobesim/internal/hostcode"
)

// What the code of a block does for instructions: loads, stores and branches, with everything that Core does beside.

// entry has Other lead to the entry of the micro-TLB for the size bytes at the virtual address in Main, as Native.entry does.
// An operand that is not aligned is left to the function. Then Local8 has the physical address, and Main the host's.
func (g *Timed) entry(size int, right uintptr) {
	slow := g.Slow()
	var m microEntry
	if size > 1 {
		g.OpImm(h.Test, 1, h.Main, int32(size-1))
		g.Jcc(h.NotEqual, slow)
	}
	g.Mov(8, h.Spare, h.Main)
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.Mov(4, h.Other, h.Spare)
	g.OpLoad(h.Add, 8, h.Spare, number(&g.modelWriter, &g.c.microGen))
	g.OpImm(h.And, 4, h.Other, microEntries-1)
	g.ShiftImm(h.Shl, 4, h.Other, microShift)
	g.OpLoad(h.Cmp, 8, h.Spare, g.micro(right))
	g.Jcc(h.NotEqual, slow)
	g.OpImm(h.And, 4, h.Main, pageMask)
	g.Load(8, h.Local8, g.micro(unsafe.Offsetof(m.base)))
	g.Op(h.Add, 8, h.Local8, h.Main)
	g.OpLoad(h.Add, 8, h.Main, g.micro(unsafe.Offsetof(m.page)))
}

// tags compares with the line that a set of the first level used last, and goes on at a label when it is another one.
func (g *Timed) tags(recent *[]uint32, other h.Label) {
	g.Mov(8, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 8, h.Spare, uint8(g.c.dShift))
	g.Mov(4, h.Other, h.Spare)
	g.OpImm(h.And, 4, h.Other, int32(g.c.dMask))
	g.OpImm(h.Add, 4, h.Spare, 1)
	g.Load(8, h.Local9, g.field(unsafe.Pointer(recent)))
	g.OpLoad(h.Cmp, 4, h.Spare, h.Mem{Base: h.Local9, Index: h.Other, Shift: 2})
	g.Jcc(h.NotEqual, other)
}

// unit has Other lead to the unit of Core.sent for the bytes that begin some bytes behind the physical address in Local8.
func (g *Timed) unit(behind int32) func(p unsafe.Pointer) h.Mem {
	g.Lea(8, h.Other, h.At(h.Local8, behind))
	g.ShiftImm(h.Shr, 4, h.Other, 2)
	g.OpImm(h.And, 4, h.Other, sentUnits-1)
	g.MultiplyImm(4, h.Other, h.Other, int32(unsafe.Sizeof(sentStore{})))
	return func(p unsafe.Pointer) h.Mem {
		m := g.field(p)
		m.Index = h.Other
		return m
	}
}

// Fetch loads size bytes at the virtual address in Main into it, the least significant byte first and extended with zeroes,
// as Load does: Spare, Other and registers from Local8 on change.
func (g *Timed) Fetch(size int) {
	c := g.c
	g.entry(size, unsafe.Offsetof(microEntry{}.read))
	none := g.NewLabel()
	g.Load(8, h.Local9, number(&g.modelWriter, &c.live))
	g.OpLoad(h.Sub, 8, h.Local9, number(&g.modelWriter, &c.placed))
	g.Mov(8, h.Spare, h.Local9)
	g.OpLoad(h.Add, 8, h.Spare, number(&g.modelWriter, &c.sequence))
	g.Jcc(h.Equal, none)
	first := g.unit(0)(unsafe.Pointer(&c.sent[0].number))
	g.Load(8, h.Spare, first)
	if size > 4 {
		g.MaxLoad(h.Spare, g.unit(int32(size-1))(unsafe.Pointer(&c.sent[0].number)))
	}
	g.Op(h.Add, 8, h.Spare, h.Local9)
	g.Op(h.Test, 8, h.Spare, h.Spare)
	g.Jcc(h.Greater, g.Slow())
	g.Bind(none)
	if c.model.levels == 0 {
		g.tags(&c.dRecent, g.Slow())
		g.Load(size, h.Main, h.At(h.Main, 0))
		return
	}
	m := timedMiss{g.NewLabel(), g.NewLabel(), g.insn, size}
	g.misses = append(g.misses, m)
	g.tags(&c.dRecent, m.miss)
	g.Load(size, h.Main, h.At(h.Main, 0))
	g.Bind(m.back)
}

// Put stores size bytes of Local7 at the virtual address in Main, as Store does: Main, Spare, Other and registers from
// Local8 on change.
func (g *Timed) Put(size int) {
	c := g.c
	g.entry(size, unsafe.Offsetof(microEntry{}.write))
	g.tags(&c.sRecent, g.Slow())
	g.Mov(8, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.Load(8, h.Other, g.field(unsafe.Pointer(&c.codeMap)))
	g.OpMemImm(h.Cmp, 8, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3}, 0) // a word is for the granules of a page
	g.Jcc(h.NotEqual, g.Slow())
	g.Store(size, h.At(h.Main, 0), h.Local7)
	// What send does.
	g.Load(8, h.Main, number(&g.modelWriter, &c.sequence))
	g.OpImm(h.Add, 8, h.Main, 1)
	g.Store(8, number(&g.modelWriter, &c.sequence), h.Main)
	g.Store(8, number(&g.modelWriter, &c.acc[g.insn].store), h.Main)
	g.Lea(8, h.Local9, h.At(h.Local8, int32(size)))
	for at := int32(0); at < int32(size); at += 4 {
		unit := g.unit(at)
		g.Store(8, unit(unsafe.Pointer(&c.sent[0].pa)), h.Local8)
		g.Store(8, unit(unsafe.Pointer(&c.sent[0].end)), h.Local9)
		g.Store(8, unit(unsafe.Pointer(&c.sent[0].number)), h.Main)
	}
	g.Const(h.Spare, 1<<g.insn)
	g.OpStore(h.Or, 8, number(&g.modelWriter, &c.sends), h.Spare)
}

// Branch ends the block by a branch to an address that is taken when Main is 1, and not when it is zero. It is predicted.
func (g *Timed) Branch(to uint64) {
	c := g.c
	field := func(p *uint32) h.Mem { return g.field(unsafe.Pointer(p)) }
	g.OpMemImm(h.Add, 8, number(&g.modelWriter, &c.Counts.Branches), 1)
	g.Load(4, h.Other, field(&c.history))
	g.Lea(4, h.Spare, h.Mem{Base: h.Other, Index: h.Other})
	g.Const(h.Local8, uint64(uint32(g.next>>(c.tshift&63))))
	g.Op(h.Xor, 4, h.Spare, h.Local8)
	g.OpImm(h.And, 4, h.Spare, int32(c.cmask))
	g.OpLoad(h.Add, 8, h.Spare, g.field(unsafe.Pointer(&c.counters)))
	g.Lea(4, h.Other, h.Mem{Base: h.Main, Index: h.Other, Shift: 1})
	g.OpImm(h.And, 4, h.Other, int32(c.histMask))
	g.Store(4, field(&c.history), h.Other)
	g.Load(1, h.Local8, h.At(h.Spare, 0))
	g.Lea(4, h.Other, h.Mem{Base: h.Local8, Index: h.Main, Shift: 1, Disp: -1}) // one up or down
	g.Const(h.Local9, 3)
	g.Op(h.Cmp, 4, h.Other, h.Local9)
	g.Cmov(h.Greater, 4, h.Other, h.Local9)
	g.Const(h.Local9, 0)
	g.Op(h.Test, 4, h.Other, h.Other)
	g.Cmov(h.Less, 4, h.Other, h.Local9)
	g.Store(1, h.At(h.Spare, 0), h.Other)
	g.ShiftImm(h.Shr, 4, h.Local8, 1)
	g.Op(h.Xor, 4, h.Local8, h.Main) // wrong
	g.OpStore(h.Add, 8, number(&g.modelWriter, &c.Counts.Mispredicts), h.Local8)
	g.Lea(4, h.Spare, h.Mem{Base: h.Local8, Index: h.Main, Shift: 1})
	g.OpStore(h.Or, 8, number(&g.modelWriter, &c.course), h.Spare)
	g.Const(h.Spare, g.next)
	g.Const(h.Other, to&c.AddrMask)
	g.Op(h.Test, 4, h.Main, h.Main)
	g.Cmov(h.NotEqual, 8, h.Spare, h.Other)
	g.Store(8, g.Register(PC), h.Spare)
}

// branched counts a branch that is taken, and that was predicted wrong when Local9 is 1, which must be zero or 1.
func (g *Timed) branched() {
	c := g.c
	g.OpMemImm(h.Add, 8, number(&g.modelWriter, &c.Counts.Branches), 1)
	g.OpStore(h.Add, 8, number(&g.modelWriter, &c.Counts.Mispredicts), h.Local9)
	g.OpImm(h.Or, 4, h.Local9, taken)
	g.OpStore(h.Or, 8, number(&g.modelWriter, &c.course), h.Local9)
}

// Called notes the address behind the present instruction as that of a return, as Core.Called does.
func (g *Timed) Called() {
	c := g.c
	top, depth, size := number(&g.modelWriter, &c.top), number(&g.modelWriter, &c.depth), int32(len(c.returns))
	g.Load(8, h.Spare, top)
	g.Const(h.Other, 0)
	g.OpImm(h.Add, 8, h.Spare, 1)
	g.OpImm(h.Cmp, 8, h.Spare, size)
	g.Cmov(h.Equal, 8, h.Spare, h.Other)
	g.Store(8, top, h.Spare)
	g.Load(8, h.Other, g.field(unsafe.Pointer(&c.returns)))
	g.Const(h.Main, g.next)
	g.Store(8, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3}, h.Main)
	g.Load(8, h.Spare, depth)
	g.Lea(8, h.Other, h.At(h.Spare, 1))
	g.OpImm(h.Cmp, 8, h.Spare, size)
	g.Cmov(h.Less, 8, h.Spare, h.Other)
	g.Store(8, depth, h.Spare)
}

// Return ends the block by a return to the address in Main, as ReturnTo does.
func (g *Timed) Return() {
	c := g.c
	top, depth := number(&g.modelWriter, &c.top), number(&g.modelWriter, &c.depth)
	none := g.NewLabel()
	g.Store(8, g.Register(PC), h.Main)
	g.Const(h.Local8, 0)
	g.Const(h.Local9, 0)
	g.OpMemImm(h.Cmp, 8, depth, 0)
	g.Jcc(h.Equal, none)
	g.OpMemImm(h.Sub, 8, depth, 1)
	g.Load(8, h.Spare, top)
	g.Load(8, h.Other, g.field(unsafe.Pointer(&c.returns)))
	g.Load(8, h.Local8, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3})
	g.Const(h.Other, uint64(len(c.returns)-1))
	g.OpImm(h.Sub, 8, h.Spare, 1)
	g.Cmov(h.Less, 8, h.Spare, h.Other)
	g.Store(8, top, h.Spare)
	g.Bind(none)
	g.Op(h.Cmp, 8, h.Local8, h.Main)
	g.Set(h.NotEqual, h.Local9)
	g.branched()
}

// Indirect ends the block by a branch to the address in Main, as Core.Indirect does.
func (g *Timed) Indirect() {
	c := g.c
	history := g.field(unsafe.Pointer(&c.history))
	g.Store(8, g.Register(PC), h.Main)
	g.Load(4, h.Other, history)
	g.Mov(4, h.Spare, h.Other)
	g.OpImm(h.And, 4, h.Spare, int32(c.thist))
	g.Const(h.Local8, uint64(uint32(g.next>>(c.tshift&63))))
	g.Op(h.Xor, 4, h.Spare, h.Local8)
	g.OpImm(h.And, 4, h.Spare, int32(c.tmask))
	g.Load(8, h.Local8, g.field(unsafe.Pointer(&c.targets)))
	g.Lea(8, h.Local8, h.Mem{Base: h.Local8, Index: h.Spare, Shift: 3})
	g.Const(h.Local9, 0)
	g.OpLoad(h.Cmp, 8, h.Main, h.At(h.Local8, 0))
	g.Set(h.NotEqual, h.Local9)
	g.Store(8, h.At(h.Local8, 0), h.Main)
	g.ShiftImm(h.Shl, 4, h.Other, 2)
	g.ShiftImm(h.Shr, 8, h.Main, 4)
	g.Op(h.Xor, 4, h.Other, h.Main)
	g.OpImm(h.And, 4, h.Other, int32(c.histMask))
	g.Store(4, history, h.Other)
	g.branched()
}

// Next is the address behind the present instruction.
func (g *Timed) Next() uint64 { return g.next }

// GoTo ends the block by a branch to an address, which needs no prediction.
func (g *Timed) GoTo(to uint64) {
	g.OpMemImm(h.Or, 8, number(&g.modelWriter, &g.c.course), taken)
	g.goTo(to & g.c.AddrMask)
}
