package engine

import (
	"math"
	"unsafe"

	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	h "kprobesim/internal/hostcode"
)

// Where the host allows it, a block that goes through the window model often gets code of the host (package hostcode) that
// does with it what rest and placeWindow do with its steps. Operands, prices and places of dispatch groups are constants
// there, and what an instruction has not is not looked at. Nothing but the speed depends on it.

// modelCode is the code of a CPU's blocks.
type modelCode struct {
	asm   h.Asm
	room  *h.Room
	asked bool   // whether there can be a room
	after uint8  // passages of a block through its steps until it gets code
	of    uint32 // generation, not zero: that of others is gone
	done  ticks  // when the last instruction of a block was done whose branch is left to settleBranch

	levels int // place of the code that brings lines in, or zero when there is none
}

// What a block's code returns.
const (
	modelDone   = iota
	modelBranch // the branch is left to settleBranch
	modelAsIs   // nothing has changed: a load of the block has found a store
)

// What the code keeps in registers. Main is when the present instruction is done; Spare and Other change.
const (
	regDispatch = h.Local1
	regRetire   = h.Local2
	regRing     = h.Local3 // place of the next instruction or group in the ring
	regGroup    = h.Local4 // when the group was dispatched
	regFilled   = h.Local5
	regFloor    = h.Local6
	regPlace    = h.Local7 // of the group in the ring
	regData     = h.Local8 // when a load's data arrive
	regFree     = h.Local9 // when an instruction's port was free
)

// coded reports whether a block has code, and makes it when the block has gone through its steps often enough.
func (c *Core) coded(b *timed) bool {
	m := &c.model
	switch {
	case b.codeOf == m.of:
		return true
	case b.coding < m.after:
		b.coding++
		return false
	case b.coding == m.after:
		b.coding++
		return c.encode(b)
	case b.codeOf != 0: // its code is gone
		b.codeOf, b.coding = 0, 0
	}
	return false
}

// behindCode does what a block's code has left to do.
func (c *Core) behindCode(b *timed, how uint64) {
	switch how {
	case modelAsIs:
		c.placeBySteps(b)
	case modelBranch:
		c.settleBranch(c.model.done)
		c.course = 0
	}
}

// hasRoom reports whether there is room for code.
func (c *Core) hasRoom() bool {
	m := &c.model
	if !m.asked {
		m.asked, m.room = true, h.NewRoom(host.Code.Room)
	}
	if m.room != nil && m.room.Used() == 0 {
		c.beginRoom()
	}
	return m.room != nil
}

// beginRoom writes what all blocks share. No code begins where the room does.
func (c *Core) beginRoom() {
	m := &c.model
	m.levels = 0
	m.asm.Begin(m.room)
	m.asm.Align(16)
	for range 2 {
		m.asm.Quad(0)
	}
	if at, ok := c.dataPath.levels.Layout(); ok && c.window && c.dir == nil {
		m.levels = m.asm.Len()
		w := levelsCode{&m.asm, at}
		w.write()
		m.asm.Align(16)
	}
	m.asm.Finish()
	if m.room.Keep(m.asm.Len()); m.asm.Full() {
		m.room = nil
	}
}

// emptyRoom drops the code of all blocks.
func (c *Core) emptyRoom() {
	if m := &c.model; m.room != nil {
		m.room.Empty(0)
		m.of++
	}
}

// encode makes the code of a block. Where there is no room for it, that of all others goes.
func (c *Core) encode(b *timed) bool {
	m := &c.model
	if !c.hasRoom() || !c.canEncode(b) {
		return false
	}
	w := modelWriter{Asm: &m.asm, c: c, b: b}
	w.Begin(m.room)
	w.block()
	if w.Finish(); w.Full() {
		c.emptyRoom()
		return false
	}
	b.code, b.codeOf = m.room.Address(m.room.Keep(w.Len())), m.of
	return true
}

// canEncode reports whether code can do all that a block's instructions need, with constants of 32 bits.
func (c *Core) canEncode(b *timed) bool {
	for i := range b.ops {
		if c.cost[b.ops[i].Class].first {
			return false
		}
		k := &c.cost[b.ops[i].Class]
		if max(k.latency, k.second, k.occupancy, k.busy, k.slots, k.groups) > math.MaxInt32/2 {
			return false
		}
	}
	most := max(c.lead, c.slot, c.l1Lat, c.slack, c.storeBusy, c.loadBusy)
	for _, t := range c.ev {
		most = max(most, t)
	}
	return most <= math.MaxInt32/2
}

// modelWriter writes the code of one block.
type modelWriter struct {
	*h.Asm
	c *Core
	b *timed
}

// field is a field of the core.
func (w *modelWriter) field(p unsafe.Pointer) h.Mem { return h.At(h.With, OffsetOf(w.c, p)) }

// number is a field with a time or another number of eight bytes.
func number[T ~int64 | ~uint64 | ~int](w *modelWriter, p *T) h.Mem { return w.field(unsafe.Pointer(p)) }

// truth is a field that is true or not.
func (w *modelWriter) truth(p *bool) h.Mem { return w.field(unsafe.Pointer(p)) }

// skipUnless jumps behind what is written next when a field is not true.
func (w *modelWriter) skipUnless(p *bool) h.Label {
	l := w.NewLabel()
	w.OpMemImm(h.Cmp, 1, w.truth(p), 0)
	w.Jcc(h.Equal, l)
	return l
}

// later has a register be a constant later.
func (w *modelWriter) later(r h.Reg, t ticks) {
	if t != 0 {
		w.OpImm(h.Add, 8, r, int32(t))
	}
}

// waitFor has a register be no earlier than other registers of the guest are ready.
func (w *modelWriter) waitFor(r h.Reg, registers ...uint8) {
	for i, x := range registers {
		seen := x == w.c.absent
		for _, y := range registers[:i] {
			seen = seen || x == y
		}
		if !seen {
			w.MaxLoad(r, w.ready(x))
		}
	}
}

func (w *modelWriter) ready(r uint8) h.Mem { return number(w, &w.c.ready[r&regMask]) }
func (w *modelWriter) port(p uint8) h.Mem  { return number(w, &w.c.port[p&portMask]) }

// waitForPort is waitFor of a port.
func (w *modelWriter) waitForPort(r h.Reg, ports ...uint8) {
	for _, p := range ports {
		if p != noPort {
			w.MaxLoad(r, w.port(p))
		}
	}
}

// take has a port be free a time behind when a register says.
func (w *modelWriter) take(p uint8, r h.Reg, t ticks) {
	if p != noPort {
		w.Lea(8, h.Spare, h.At(r, int32(t)))
		w.Store(8, w.port(p), h.Spare)
	}
}

// block writes everything.
func (w *modelWriter) block() {
	asIs, branch := w.NewLabel(), w.NewLabel()
	w.steps(asIs, branch)
	for _, x := range []struct {
		label h.Label
		how   uint64
	}{{w.NewLabel(), modelDone}, {branch, modelBranch}, {asIs, modelAsIs}} {
		w.Bind(x.label)
		w.Const(h.Main, x.how)
		w.Ret()
	}
}

// steps places the block. It goes on at asIs when a load has found a store, and at branch when that is left to
// settleBranch; with dispatch in its register.
func (w *modelWriter) steps(asIs, branch h.Label) {
	w.begin(asIs)
	for i := range w.b.steps {
		w.step(i)
	}
	w.end(branch)
}

// begin looks for stores that loads have found, and brings what the code keeps into registers.
func (w *modelWriter) begin(asIs h.Label) {
	c := w.c
	for i := range w.b.ops {
		if w.b.ops[i].Flags&Loads != 0 {
			w.OpMemImm(h.Cmp, 1, w.field(unsafe.Pointer(&c.acc[i].match)), noStore)
			w.Jcc(h.NotEqual, asIs)
		}
	}
	w.Load(8, regDispatch, number(w, &c.dispatch))
	w.Load(8, regRetire, number(w, &c.retire))
	w.Load(8, regRing, number(w, &c.at))
	if c.grouped {
		w.Load(8, regGroup, number(w, &c.group.at))
		w.Load(1, regFilled, w.field(unsafe.Pointer(&c.group.filled)))
		w.Load(8, regFloor, number(w, &c.group.floor))
		w.Load(8, regPlace, number(w, &c.group.place))
	}
	l := w.skipUnless(&c.entering)
	w.StoreImm(1, w.truth(&c.entering), 0)
	if w.b.entered {
		w.fetch()
	}
	w.Bind(l)
}

// end takes them back, and does what settleBranch does behind a branch that was taken and predicted.
func (w *modelWriter) end(branch h.Label) {
	c := w.c
	w.Store(8, number(w, &c.retire), regRetire)
	w.Store(8, number(w, &c.at), regRing)
	if c.grouped {
		w.Store(8, number(w, &c.group.at), regGroup)
		w.Store(1, w.field(unsafe.Pointer(&c.group.filled)), regFilled)
		w.Store(8, number(w, &c.group.floor), regFloor)
		w.Store(8, number(w, &c.group.place), regPlace)
	}
	w.OpMemImm(h.Add, 8, number(w, &c.count), int32(len(w.b.steps)))
	w.Load(8, h.Spare, number(w, &c.course))
	other, leave, none := w.NewLabel(), w.NewLabel(), w.NewLabel()
	w.OpImm(h.Cmp, 8, h.Spare, taken)
	w.Jcc(h.NotEqual, other)
	w.OpMemImm(h.Cmp, 8, number(w, &c.loop.passes), streaming)
	w.Jcc(h.Equal, leave)
	w.StoreImm(1, w.truth(&c.streams), 0)
	w.StoreImm(1, w.truth(&c.entering), 1)
	w.StoreImm(8, number(w, &c.course), 0)
	w.redirect(c.ev[evTaken])
	w.Jmp(none)
	w.Bind(other)
	w.Op(h.Test, 8, h.Spare, h.Spare)
	w.Jcc(h.Equal, none)
	w.Bind(leave)
	w.Store(8, number(w, &c.dispatch), regDispatch)
	w.Store(8, number(w, &c.model.done), h.Main)
	w.Jmp(branch)
	w.Bind(none)
	w.Store(8, number(w, &c.dispatch), regDispatch)
}

// fetch fetches a window of bytes.
func (w *modelWriter) fetch() { w.redirect(clock.PerCycle) }

// redirect has fetch go on a time later than it does or may. Spare changes.
func (w *modelWriter) redirect(t ticks) {
	w.Lea(8, h.Spare, h.At(regDispatch, -int32(w.c.lead)))
	w.MaxLoad(h.Spare, number(w, &w.c.fetched))
	w.later(h.Spare, t)
	w.Store(8, number(w, &w.c.fetched), h.Spare)
	w.Max(regDispatch, h.Spare)
}

// step writes what placeSteps or placeGrouped do with one step.
func (w *modelWriter) step(i int) {
	c, s, op := w.c, &w.b.steps[i], &w.b.ops[i]
	if s.flags&newWindow != 0 {
		l := w.NewLabel()
		w.OpMemImm(h.Cmp, 1, w.truth(&c.streams), 0)
		w.Jcc(h.NotEqual, l)
		w.fetch()
		w.Bind(l)
	}
	if s.flags&stepFront != 0 {
		w.stackPointer(op)
	}
	place := regRing
	if c.grouped {
		w.group(s)
		w.Max(regRetire, regFloor)
		place = regPlace
	} else {
		w.later(regDispatch, ticks(s.pace))
		w.MaxLoad(regDispatch, w.ring(regRing))
		if c.scoreboard {
			w.inOrder(op)
		}
		w.later(regRetire, c.slot)
	}
	w.execute(i)
	w.Store(8, w.ring(place), regRetire)
	if !c.grouped {
		w.nextInRing()
	}
}

// ring is a place in the ring.
func (w *modelWriter) ring(r h.Reg) h.Mem {
	m := number(w, &w.c.ring[0])
	m.Index, m.Shift = r, 3
	return m
}

// nextInRing goes on in the ring. Spare changes.
func (w *modelWriter) nextInRing() {
	w.Const(h.Spare, 0)
	w.OpImm(h.Add, 8, regRing, 1)
	w.OpImm(h.Cmp, 8, regRing, int32(w.c.rob))
	w.Cmov(h.GreaterOrEq, 8, regRing, h.Spare)
}

// stackPointer is Core.stackPointer. Main and Spare change.
func (w *modelWriter) stackPointer(op *Op) {
	c := w.c
	sp := w.ready(c.stack)
	if op.Flags&namesStack != 0 {
		l := w.skipUnless(&c.moved)
		w.later(regDispatch, c.slot)
		w.Load(8, h.Main, sp)
		w.Max(h.Main, regDispatch)
		w.later(h.Main, clock.PerCycle)
		w.Store(8, sp, h.Main)
		w.StoreImm(1, w.truth(&c.moved), 0)
		w.Bind(l)
	}
	if op.Flags&moves == 0 {
		return
	}
	w.Load(8, h.Main, sp)
	w.Store(8, w.ready(stackAddress), h.Main)
	if c.stackEngine {
		w.StoreImm(1, w.truth(&c.moved), 1)
		return
	}
	w.StoreImm(1, w.truth(&c.moved), 0)
	w.Lea(8, h.Spare, h.At(regDispatch, int32(c.slot)))
	w.Max(h.Main, h.Spare)
	w.later(h.Main, clock.PerCycle)
	w.Store(8, sp, h.Main)
}

// group finds an instruction its place in a dispatch group, as placeGrouped does. Spare changes.
func (w *modelWriter) group(s *step) {
	fresh, in := w.NewLabel(), w.NewLabel()
	if s.limit >= s.places {
		w.Op(h.Cmp, 8, regDispatch, regGroup)
		w.Jcc(h.NotEqual, fresh)
		w.OpImm(h.Cmp, 4, regFilled, int32(s.limit-s.places))
		w.Jcc(h.NotAbove, in)
	}
	w.Bind(fresh)
	w.Lea(8, h.Spare, h.At(regGroup, int32(clock.PerCycle)))
	w.Max(regDispatch, h.Spare)
	w.MaxLoad(regDispatch, w.ring(regRing))
	w.Lea(8, regGroup, h.At(regDispatch, s.pace-int32(clock.PerCycle)))
	w.Lea(8, regFloor, h.At(regRetire, s.pace))
	w.Mov(8, regPlace, regRing)
	w.Const(regFilled, 0)
	w.nextInRing()
	w.Bind(in)
	if s.least != 0 {
		w.Const(h.Spare, uint64(s.least))
		w.Max(regFilled, h.Spare)
	}
	w.later(regFilled, ticks(s.takes))
}

// inOrder is Core.inOrder.
func (w *modelWriter) inOrder(op *Op) {
	k := &w.c.cost[op.Class]
	w.waitForPort(regDispatch, k.port, k.unit)
	wait := []uint8{op.S1, op.S2, op.S3}
	if op.Flags&(Loads|Stores) != 0 {
		wait = append(wait, op.Base, op.Index)
	}
	w.waitFor(regDispatch, wait...)
	if op.Flags&Loads != 0 {
		w.waitForPort(regDispatch, portLoad)
	}
	if op.Flags&Stores != 0 {
		w.waitForPort(regDispatch, portStore)
	}
}

// execute is placeOp. What is to retire no earlier than the retirement before is there already.
func (w *modelWriter) execute(i int) {
	op := &w.b.ops[i]
	k := &w.c.cost[op.Class]
	w.Mov(8, h.Main, regDispatch)
	w.waitForPort(h.Main, k.port, k.unit)
	w.take(k.unit, h.Main, k.busy)
	w.take(k.port, h.Main, k.occupancy)
	if k.second != 0 {
		w.Mov(8, regFree, h.Main)
	}
	if op.Flags&Loads != 0 {
		w.load(op, i)
	}
	w.waitFor(h.Main, op.S1, op.S2, op.S3)
	w.later(h.Main, k.latency)
	second := h.Main
	if k.second != 0 {
		second = h.Other
		w.second(op, k)
	}
	w.Store(8, w.ready(op.O1), h.Main)
	if op.O2 != op.O1 || k.second != 0 {
		w.Store(8, w.ready(op.O2), second)
	}
	for r := range uint8(Registers) {
		if op.Also>>r&1 != 0 {
			w.Store(8, w.ready(r), h.Main)
		}
	}
	if op.Flags&Stores != 0 {
		w.store(op, i)
	}
	w.Max(regRetire, h.Main)
	if k.second != 0 {
		w.Max(regRetire, second)
	}
	if op.Flags&Stores != 0 {
		w.Load(8, h.Spare, number(w, &w.c.drained))
		w.later(h.Spare, -w.c.slack)
		w.Max(regDispatch, h.Spare)
	}
}

// load is Core.loaded of a load that has found no store.
func (w *modelWriter) load(op *Op, i int) {
	c := w.c
	miss := number(w, &c.acc[i].miss)
	w.Mov(8, regData, regDispatch)
	w.waitForPort(regData, portLoad)
	w.take(portLoad, regData, c.loadBusy)
	w.waitFor(regData, op.Base, op.Index)
	w.OpLoad(h.Add, 8, regData, miss)
	w.later(regData, c.l1Lat)
	w.StoreImm(8, miss, 0)
	w.Max(h.Main, regData)
}

// second is Core.secondResult, in Other.
func (w *modelWriter) second(op *Op, k *price) {
	if op.Flags&(Loads|Stores) == 0 {
		w.Lea(8, h.Other, h.At(h.Main, int32(k.second-k.latency)))
		return
	}
	w.Mov(8, h.Other, regFree)
	w.waitFor(h.Other, op.Base, op.Index)
	w.later(h.Other, k.second)
}

// store is Core.placeStore and Core.commit. Only Spare, regData and regFree change beside when the instruction is done.
func (w *modelWriter) store(op *Op, i int) {
	c := w.c
	w.Mov(8, regData, regDispatch)
	w.waitForPort(regData, portStore)
	w.take(portStore, regData, c.storeBusy)
	w.waitFor(regData, op.Base, op.Index)
	w.Max(h.Main, regData)

	w.Mov(8, regData, regRetire) // when the store retires, and is on its way to the cache
	w.Max(regData, h.Main)
	w.later(regData, c.ev[evCommit])
	w.Load(8, h.Spare, number(w, &c.drained))
	w.later(h.Spare, c.storeBusy)
	w.Max(regData, h.Spare)
	w.OpLoad(h.Add, 8, regData, number(w, &c.acc[i].missW))
	w.Store(8, number(w, &c.drained), regData)
	w.StoreImm(8, number(w, &c.acc[i].missW), 0)

	l := w.NewLabel()
	w.Load(8, h.Spare, number(w, &c.acc[i].store))
	w.OpLoad(h.Cmp, 8, h.Spare, number(w, &c.placed))
	w.Jcc(h.NotAbove, l)
	w.Store(8, number(w, &c.placed), h.Spare)
	w.OpImm(h.And, 4, h.Spare, forwards-1)
	w.MultiplyImm(8, h.Spare, h.Spare, int32(unsafe.Sizeof(c.stores[0])))
	at := func(p unsafe.Pointer) h.Mem {
		m := w.field(p)
		m.Index = h.Spare
		return m
	}
	w.Store(8, at(unsafe.Pointer(&c.stores[0].data)), h.Main)
	w.Store(8, at(unsafe.Pointer(&c.stores[0].commit)), regData)
	pushed := int32(0)
	if op.Flags&Pushes != 0 {
		pushed = 1
	}
	w.StoreImm(1, at(unsafe.Pointer(&c.stores[0].pushed)), pushed)
	w.Bind(l)
}
