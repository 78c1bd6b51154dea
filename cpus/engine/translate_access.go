package engine

import (
	"math/bits"
	"unsafe"

	h "kprobesim/internal/hostcode"
	"kprobesim/mmu"
)

// routines are places of code in the room that the code of blocks calls.
type routines struct {
	enter, exit                int
	settle                     int
	bringLoad, bringFetch      int    // a line that is in a first-level cache
	read, write, modify        [4]int // by the logarithm of an operand's bytes
	taken, untaken             int
	called, returned, indirect int
	forward, backward          int
}

// accessKind says what an instruction does with its operand in memory.
type accessKind uint8

const (
	reads accessKind = 1 << iota
	writes
	modifies = reads | writes
)

// microShift is the logarithm of the bytes of an entry of the micro-TLB.
const microShift = 5

// writeRoutines writes what the code of blocks shares. Code is entered at the address in Main, with guest registers in
// their host registers, and left with why in Main.
func (g *Code) writeRoutines(pins []Pin) {
	r := &g.routines
	g.Begin(g.room)
	for _, p := range pins {
		g.Load(8, p.Host, g.Register(p.Guest))
	}
	g.JmpReg(h.Main)
	r.enter = g.keep()
	g.Begin(g.room)
	for _, p := range pins {
		g.Store(8, g.Register(p.Guest), p.Host)
	}
	g.Ret()
	r.exit = g.keep()
	if !g.timed {
		return
	}
	r.bringLoad = g.routine(func() { g.useLine(g.c.l1d) })
	r.bringFetch = g.routine(func() { g.useLine(g.c.l1i) })
	for log := range 4 {
		r.read[log] = g.routine(func() { g.access(1<<log, reads) })
		r.write[log] = g.routine(func() { g.access(1<<log, writes) })
		r.modify[log] = g.routine(func() { g.access(1<<log, modifies) })
	}
	g.writeBranches()
	r.settle = g.routine(g.followMemo)
}

// routine writes a routine and returns its place.
func (g *Code) routine(body func()) int {
	g.Begin(g.room)
	body()
	g.Ret()
	return g.keep()
}

func (g *Code) keep() int {
	g.Align(16)
	g.Finish()
	return g.room.Keep(g.Len())
}

// number64 and time are fields of the engine.
func (g *Code) number64(p *uint64) h.Mem { return g.Field(unsafe.Pointer(p)) }
func (g *Code) time(p *ticks) h.Mem      { return g.Field(unsafe.Pointer(p)) }

// Readable turns the guest address in Main into the host's address of an operand of size bytes that is loaded, and does
// what the engine does of the load. The instruction cannot be left behind it. Spare, Other and flags change.
func (g *Code) Readable(size int) { g.reach(size, reads) }

// Writable is Readable of an operand that is stored next, and not read.
func (g *Code) Writable(size int) { g.reach(size, writes) }

// Modifiable is Readable of an operand that is loaded, and stored next.
func (g *Code) Modifiable(size int) { g.reach(size, modifies) }

func (g *Code) reach(size int, kind accessKind) {
	if !g.timed {
		g.reachUntimed(size, kind)
		return
	}
	log := bits.TrailingZeros(uint(size))
	g.Const(h.Local7, uint64(g.insn))
	if kind&reads != 0 && g.c.conflicts != nil {
		g.Const(h.Local6, g.next)
	}
	switch kind {
	case reads:
		g.CallTo(g.routines.read[log])
	case writes:
		g.CallTo(g.routines.write[log])
	default:
		g.CallTo(g.routines.modify[log])
	}
	g.Jcc(h.Below, g.Slow()) // the carry
}

// micro is a field of the entry of the micro-TLB that Other leads to.
func (g *Code) micro(at uintptr) h.Mem {
	m := g.Field(unsafe.Pointer(&g.c.micro))
	m.Index = h.Other
	m.Disp += int32(at)
	return m
}

// right is the place in an entry of the micro-TLB of the tag that an access must have.
func (k accessKind) right() uintptr {
	var m microEntry
	if k&writes != 0 {
		return unsafe.Offsetof(m.write)
	}
	return unsafe.Offsetof(m.read)
}

// reachUntimed is Readable without a cost model. An operand in two pages has the tag of the second, which its entry lacks.
func (g *Code) reachUntimed(size int, kind accessKind) {
	var m microEntry
	slow := g.Slow()
	if size == 1 {
		g.Mov(8, h.Spare, h.Main)
	} else {
		g.Lea(8, h.Spare, h.At(h.Main, int32(size-1)))
	}
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.OpLoad(h.Add, 8, h.Spare, g.number64(&g.c.microGen))
	g.Mov(4, h.Other, h.Main)
	g.ShiftImm(h.Shr, 4, h.Other, pageShift-microShift)
	g.OpImm(h.And, 4, h.Other, (microEntries-1)<<microShift)
	g.OpLoad(h.Cmp, 8, h.Spare, g.micro(kind.right()))
	g.Jcc(h.NotEqual, slow)
	g.OpImm(h.And, 4, h.Main, pageMask)
	g.OpLoad(h.Add, 8, h.Main, g.micro(unsafe.Offsetof(m.page)))
	if kind&writes == 0 {
		return
	}
	g.Load(8, h.Spare, g.micro(unsafe.Offsetof(m.base)))
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.Load(8, h.Other, g.Field(unsafe.Pointer(&g.c.codeMap)))
	g.OpMemImm(h.Cmp, 8, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3}, 0)
	g.Jcc(h.NotEqual, slow)
}

// access is the routine of an access in timed code. Main has the guest address, and Local7 the number of the instruction.
// It returns with the host's address in Main and no carry, or with the carry, and nothing changed, where the access is
// left to the reference function: an operand that is not aligned, a micro-TLB miss, a line that is not the one its set
// used last, or a store to decoded code.
func (g *Code) access(size int, kind accessKind) {
	var m microEntry
	c, slow, find, behind, bring, there := g.c, g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel()
	if size > 1 {
		g.OpImm(h.Test, 1, h.Main, int32(size-1))
		g.Jcc(h.NotEqual, slow)
	}
	g.Mov(8, h.Spare, h.Main)
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.Mov(4, h.Other, h.Spare)
	g.OpLoad(h.Add, 8, h.Spare, g.number64(&c.microGen))
	g.OpImm(h.And, 4, h.Other, microEntries-1)
	g.ShiftImm(h.Shl, 4, h.Other, microShift)
	g.OpLoad(h.Cmp, 8, h.Spare, g.micro(kind.right()))
	g.Jcc(h.NotEqual, slow)
	g.OpImm(h.And, 4, h.Main, pageMask)
	g.Load(8, h.Local8, g.micro(unsafe.Offsetof(m.base)))
	g.Op(h.Add, 8, h.Local8, h.Main)
	g.OpLoad(h.Add, 8, h.Main, g.micro(unsafe.Offsetof(m.page)))
	recent := &c.dRecent
	if kind&writes != 0 {
		g.checkCode(slow)
		if c.words {
			g.checkBuffer(size, slow)
		}
		recent = &c.sRecent
	}
	inColumn := kind&reads != 0 && c.columnShift != 0
	if inColumn || kind&writes != 0 && c.pairs { // there must be room for what it notes
		g.OpMemImm(h.Cmp, 8, g.number64(&c.outcome), inputs/2*oneInput)
		g.Jcc(h.AboveOrEq, slow)
	}
	g.checkTag(recent, bring)
	g.Bind(there)
	if kind&reads != 0 {
		g.mayFind(size, find)
	}
	g.Bind(behind)
	if inColumn {
		g.noteColumns(size)
	}
	if kind&writes != 0 {
		g.send(size)
	}
	g.Carry(false)
	g.Ret()
	if g.Bind(find); kind&reads != 0 {
		g.findStore(size, behind, slow)
	}
	g.Bind(bring)
	if c.dir == nil {
		g.CallTo(g.routines.bringLoad)
		g.Jcc(h.AboveOrEq, there) // no carry
	}
	g.Bind(slow)
	g.Carry(true)
}

// useLine is the routine that does what mmu.Cache.Use does with the tag in Spare, whose set is in Other. It returns with
// the carry, and nothing changed, where the cache has it not.
func (g *Code) useLine(c *mmu.Cache) {
	at, miss := c.Layout(), g.NewLabel()
	const way, element, idle, left = h.Local5, h.Local9, h.Local3, h.Local4
	g.Const(element, uint64(at.Places))
	g.OpLoad(h.Cmp, 8, h.Spare, h.At(element, 8)) // the length of the slice
	g.Jcc(h.AboveOrEq, miss)
	g.Load(8, element, h.At(element, 0))
	g.Load(4, way, h.Mem{Base: element, Index: h.Spare, Shift: 2})
	g.ShiftImm(h.Shr, 4, way, uint8(at.Column))
	g.OpImm(h.And, 4, way, mmu.PlaceColumn)
	g.Jcc(h.Equal, miss)
	g.Const(element, uint64(at.Recent))
	g.Store(4, h.Mem{Base: element, Index: h.Other, Shift: 2}, h.Spare)
	g.Const(element, uint64(at.Idle))
	g.Lea(8, element, h.Mem{Base: element, Index: h.Other, Shift: 2})
	g.Load(4, idle, h.At(element, 0))
	g.Lea(4, h.Spare, h.At(way, -1))
	g.Const(left, 1)
	g.ShiftCL(h.Shl, 4, left)
	g.One(h.Not, 4, left)
	g.Mov(4, way, idle)
	g.OpImm(h.Xor, 4, way, int32(at.Others))
	g.Op(h.And, 4, left, idle)
	g.Cmov(h.Equal, 4, left, way)
	g.Store(4, h.At(element, 0), left)
	g.Carry(false)
	g.Ret()
	g.Bind(miss)
	g.Carry(true)
}

// checkTag compares the line at the address in Local8 with the one that its set of the first level used last.
func (g *Code) checkTag(recent *[]uint32, other h.Label) {
	g.Mov(8, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 8, h.Spare, uint8(g.c.dShift))
	g.Mov(4, h.Other, h.Spare)
	g.OpImm(h.And, 4, h.Other, int32(g.c.dMask))
	g.OpImm(h.Add, 4, h.Spare, 1)
	g.Load(8, h.Local9, g.Field(unsafe.Pointer(recent)))
	g.OpLoad(h.Cmp, 4, h.Spare, h.Mem{Base: h.Local9, Index: h.Other, Shift: 2})
	g.Jcc(h.NotEqual, other)
}

// checkCode leaves a store to decoded code, as Core.Decoded finds it.
func (g *Code) checkCode(slow h.Label) {
	g.Mov(8, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	g.Load(8, h.Other, g.Field(unsafe.Pointer(&g.c.codeMap)))
	g.Load(8, h.Other, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3})
	g.Mov(4, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 4, h.Spare, mmu.GranuleShift)
	g.BitOf(h.Other, h.Spare)
	g.Jcc(h.Below, slow)
}

// checkBuffer leaves a store to noteWords that may begin a buffer or have a part of a word.
func (g *Code) checkBuffer(size int, slow h.Label) {
	c := g.c
	if size < checkedBytes {
		g.Jmp(slow)
		return
	}
	g.Mov(8, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 8, h.Spare, uint8(c.blockShift))
	g.OpLoad(h.Cmp, 8, h.Spare, g.number64(&c.lastBlock))
	g.Jcc(h.NotEqual, slow)
	g.OpMemImm(h.Cmp, 8, g.number64(&c.awaited), 0)
	g.Jcc(h.NotEqual, slow)
}

// unit has Other lead to the unit of Core.sent for the byte at a distance from the address in Local8.
func (g *Code) unit(at int32) {
	g.Lea(4, h.Other, h.At(h.Local8, at))
	g.ShiftImm(h.Shr, 4, h.Other, 2)
	g.OpImm(h.And, 4, h.Other, sentUnits-1)
	g.MultiplyImm(4, h.Other, h.Other, int32(unsafe.Sizeof(sentStore{})))
}

// sent is a field of the unit that Other leads to.
func (g *Code) sent(p unsafe.Pointer) h.Mem {
	m := g.Field(p)
	m.Index = h.Other
	return m
}

// mayFind does what Core.mayFind does, and goes on at a label if findStore is to be asked.
func (g *Code) mayFind(size int, find h.Label) {
	c, none := g.c, g.NewLabel()
	g.Load(8, h.Local9, g.number64(&c.live))
	g.OpLoad(h.Sub, 8, h.Local9, g.number64(&c.placed))
	g.Mov(8, h.Spare, h.Local9)
	g.OpLoad(h.Add, 8, h.Spare, g.number64(&c.sequence))
	g.Jcc(h.Equal, none)
	g.unit(0)
	g.Load(8, h.Spare, g.sent(unsafe.Pointer(&c.sent[0].number)))
	if size > 4 {
		g.unit(4)
		g.MaxLoad(h.Spare, g.sent(unsafe.Pointer(&c.sent[0].number)))
	}
	g.Op(h.Add, 8, h.Spare, h.Local9)
	g.Op(h.Test, 8, h.Spare, h.Spare)
	g.Jcc(h.Greater, find)
	g.Bind(none)
}

// findStore does what Core.findStore does, and goes on at a label.
func (g *Code) findStore(size int, behind, slow h.Label) {
	c, blocks, note := g.c, g.NewLabel(), g.NewLabel()
	var s sentStore
	g.unit(0)
	g.Lea(8, h.Local4, g.sent(unsafe.Pointer(&c.sent[0])))
	if size > 4 {
		g.unit(4)
		g.Lea(8, h.Local5, g.sent(unsafe.Pointer(&c.sent[0])))
		g.Load(8, h.Spare, h.At(h.Local5, int32(unsafe.Offsetof(s.number))))
		g.OpLoad(h.Cmp, 8, h.Spare, h.At(h.Local4, int32(unsafe.Offsetof(s.number))))
		g.Cmov(h.Above, 8, h.Local4, h.Local5)
	}
	g.Load(8, h.Spare, h.At(h.Local4, int32(unsafe.Offsetof(s.number))))
	g.Load(8, h.Local3, g.number64(&c.sequence))
	g.Op(h.Sub, 8, h.Local3, h.Spare)
	g.OpLoad(h.Sub, 8, h.Spare, g.number64(&c.placed))
	g.Mov(8, h.Local5, h.Spare)
	g.OpLoad(h.Add, 8, h.Local5, g.number64(&c.live))
	g.Op(h.Test, 8, h.Local5, h.Local5)
	g.Jcc(h.LessOrEq, behind)
	g.OpImm(h.Cmp, 8, h.Local3, int32(c.seen))
	g.Jcc(h.AboveOrEq, behind)
	g.Load(8, h.Local5, h.At(h.Local4, int32(unsafe.Offsetof(s.end))))
	g.Op(h.Cmp, 8, h.Local5, h.Local8)
	g.Jcc(h.NotAbove, behind)
	g.Lea(8, h.Local2, h.At(h.Local8, int32(size)))
	g.OpLoad(h.Cmp, 8, h.Local2, h.At(h.Local4, int32(unsafe.Offsetof(s.pa))))
	g.Jcc(h.NotAbove, behind)
	g.OpMemImm(h.Cmp, 8, g.number64(&c.outcome), inputs/2*oneInput)
	g.Jcc(h.AboveOrEq, slow)
	if c.conflicts != nil {
		g.checkConflict(slow)
	}
	g.ShiftImm(h.Shl, 8, h.Spare, 24)
	g.Mov(4, h.Local3, h.Local7)
	g.ShiftImm(h.Shl, 4, h.Local3, 8)
	g.Op(h.Or, 8, h.Spare, h.Local3)
	g.OpImm(h.Or, 8, h.Spare, forwarded<<16|inMatch)
	g.OpLoad(h.Cmp, 8, h.Local8, h.At(h.Local4, int32(unsafe.Offsetof(s.pa))))
	g.Jcc(h.NotEqual, blocks)
	g.Op(h.Cmp, 8, h.Local5, h.Local2)
	if c.wholeWords && size < checkedBytes {
		g.Jcc(h.Below, blocks)
		g.OpImm(h.Xor, 8, h.Spare, (forwarded^inside)<<16)
		g.Jmp(note)
	} else {
		g.Jcc(h.AboveOrEq, note)
	}
	g.Bind(blocks)
	if c.partly == inside {
		some := g.NewLabel()
		g.OpLoad(h.Cmp, 8, h.Local8, h.At(h.Local4, int32(unsafe.Offsetof(s.pa))))
		g.Jcc(h.NotAbove, some)
		g.Op(h.Cmp, 8, h.Local2, h.Local5)
		g.Jcc(h.Above, some)
		g.OpImm(h.Xor, 8, h.Spare, (forwarded^inside)<<16)
		g.Jmp(note)
		g.Bind(some)
	}
	if c.begun == longer {
		other := g.NewLabel()
		g.OpLoad(h.Cmp, 8, h.Local8, h.At(h.Local4, int32(unsafe.Offsetof(s.pa))))
		g.Jcc(h.NotEqual, other)
		g.OpImm(h.Xor, 8, h.Spare, (forwarded^longer)<<16)
		g.Jmp(note)
		g.Bind(other)
	}
	g.OpImm(h.Xor, 8, h.Spare, (forwarded^blocking)<<16)
	g.Bind(note)
	g.note(h.Spare)
	g.Jmp(behind)
}

// checkConflict leaves a load that has an entry in the table of conflicts, which may tell it to wait. Local6 has the address
// behind the load.
func (g *Code) checkConflict(slow h.Label) {
	var f conflicts
	g.Const(h.Local3, golden)
	g.Multiply(8, h.Local3, h.Local6)
	g.ShiftImm(h.Shr, 8, h.Local3, conflictShift)
	g.MultiplyImm(8, h.Local3, h.Local3, int32(unsafe.Sizeof(f.loads[0])))
	g.OpLoad(h.Add, 8, h.Local3, g.Field(unsafe.Pointer(&g.c.conflicts)))
	g.OpLoad(h.Cmp, 8, h.Local6, h.At(h.Local3, int32(unsafe.Offsetof(f.loads)+unsafe.Offsetof(f.loads[0].next))))
	g.Jcc(h.Equal, slow)
}

// send does what Core.send does.
func (g *Code) send(size int) {
	c := g.c
	g.Load(8, h.Local9, g.number64(&c.sequence))
	g.OpImm(h.Add, 8, h.Local9, 1)
	g.Store(8, g.number64(&c.sequence), h.Local9)
	g.Mov(4, h.Spare, h.Local7)
	g.Const(h.Other, 1)
	g.ShiftCL(h.Shl, 8, h.Other)
	g.OpStore(h.Or, 8, g.number64(&c.sends), h.Other)
	g.MultiplyImm(4, h.Spare, h.Spare, int32(unsafe.Sizeof(access{})))
	number := g.number64(&c.acc[0].store)
	number.Index = h.Spare
	g.Store(8, number, h.Local9)
	g.Lea(8, h.Spare, h.At(h.Local8, int32(size)))
	for at := 0; at < size; at += 4 {
		g.unit(int32(at))
		g.Store(8, g.sent(unsafe.Pointer(&c.sent[0].pa)), h.Local8)
		g.Store(8, g.sent(unsafe.Pointer(&c.sent[0].end)), h.Spare)
		g.Store(8, g.sent(unsafe.Pointer(&c.sent[0].number)), h.Local9)
	}
	if c.pairs {
		g.notePair()
	}
}

// notePair does what Core.notePair does.
func (g *Code) notePair() {
	c, other := g.c, g.NewLabel()
	g.Mov(8, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 8, h.Spare, uint8(c.blockShift))
	g.OpLoad(h.Cmp, 8, h.Spare, g.number64(&c.lastBlock))
	g.Store(8, g.number64(&c.lastBlock), h.Spare)
	g.Jcc(h.NotEqual, other)
	g.Mov(4, h.Other, h.Local7)
	g.ShiftImm(h.Shl, 4, h.Other, 8)
	g.OpImm(h.Or, 8, h.Other, inPair)
	g.note(h.Other)
	g.Bind(other)
}

// note appends a register to the inputs of the running block, of which there is room for one more.
func (g *Code) note(what h.Reg) {
	c := g.c
	g.Load(8, h.Local3, g.number64(&c.outcome)) // what Core.noteInput does: their number, times the bytes of one
	g.OpMemImm(h.Add, 8, g.number64(&c.outcome), oneInput)
	g.OpImm(h.And, 4, h.Local3, allInputs)
	input := g.number64(&c.memo.inputs[0])
	input.Index = h.Local3
	g.Store(8, input, what)
}
