package engine

import (
	"unsafe"

	"kprobesim/internal/clock"
	h "kprobesim/internal/hostcode"
)

// Where the host allows it, a block that is executed under the window model often becomes code of the host as a whole:
// its instructions with their tags and their branch prediction, the passage along an edge of the memo or, while the memo
// rests, through the model (native_model.go), and the way to the next block. It does what runBlocks does with the frequent
// case of each. What is not the frequent case is left to the functions before anything has changed, and so is whatever has
// no code here: nothing but the speed depends on it.
//
// The guest's registers stay in memory, so code may be left and entered at any instruction.

// TimedGenerator is an instruction set that writes such code.
type TimedGenerator[C, P any] interface {
	// GenerateTimed writes code for an instruction. It reports false, with nothing written, when it has none.
	GenerateTimed(g *Timed, in *Insn[C, P]) bool
}

// Timed writes the code of one block.
type Timed struct {
	modelWriter
	next   uint64 // address behind the present instruction
	number uint64 // of the block
	insn   int
	exits  []timedExit
	misses []timedMiss
}

// timedMiss is a load whose line is not the one that its set used last.
type timedMiss struct {
	miss, back h.Label
	insn, size int
}

// timedExit is a place where code is left.
type timedExit struct {
	label h.Label
	why   uint64
}

// Reasons to leave the code of a block, in the lowest bits of what it returns. Above are the number of an instruction,
// from leftInsn on, and that of the block, from leftBlock on.
const (
	leftExecute = 1 + iota // the instruction is to be executed
	leftSettle             // all are executed, and are to be settled
	leftRested             // the model's code has placed them, and perhaps left the branch
	leftBehind             // all are settled: the next block is to be looked for
	leftEnter              // the lines of the block are to be fetched, or it is gone

	leftInsn  = 8
	leftBlock = 16
)

const (
	fewest    = 3                        // instructions of a block for each one that has no code, at least
	timedTurn = 1 << 18 * clock.PerCycle // until Run looks around
)

// timedState is what an engine has for it.
type timedState[C, P any] struct {
	coder   TimedGenerator[C, P]
	whole   []*Block[C, P] // blocks with code, by number
	wholeOf uint32         // generation of the room that they are in
	hot     uint8          // executions of a block by functions before it becomes code
	turn    clock.Ticks    // when code is left for Run to look around, and with it the runtime of the host
}

// timedWay is where a block's code goes on at an address, as long as translations are what they were.
type timedWay struct {
	pc, gen, code uint64
}

// wholeCode is the code of a block.
type wholeCode struct {
	of     uint32    // generation of the room
	enter  uintptr   // from other blocks
	places []uintptr // of each instruction, and of what is behind all
	ways   [2]timedWay
}

// isCoded reports whether a block is code as a whole.
func (e *Engine[C, P]) isCoded(b *Block[C, P]) bool {
	return b.native != nil && b.native.of == e.model.of
}

// canBeWhole reports whether a block can be code as a whole, as far as that is not a matter of single instructions: on a
// CPU that is alone, has no loop buffer and fetches what was stored, where the block lies in one line and has steps.
func (e *Engine[C, P]) canBeWhole(b *Block[C, P]) bool {
	c := &e.Core
	if !c.window || c.loops || c.dir != nil || c.stale != nil || c.quick.on {
		return false
	}
	if !b.plain || b.tail != nil || b.next != 0 || len(b.ops) > oddMost || !b.simple || !c.hasRoom() || !c.canEncode(&b.timed) {
		return false
	}
	if b.steps == nil {
		c.plan(&b.timed)
	}
	return b.steps != nil
}

// encodeWhole makes the code of a block, if it can have some and nearly all of its instructions do.
func (e *Engine[C, P]) encodeWhole(b *Block[C, P]) {
	c := &e.Core
	if !e.canBeWhole(b) {
		return
	}
	if e.wholeOf != c.model.of {
		e.whole, e.wholeOf = nil, c.model.of
	}
	w := &wholeCode{of: c.model.of}
	g := &Timed{modelWriter: modelWriter{Asm: &c.model.asm, c: c, b: &b.timed}, number: uint64(len(e.whole))}
	g.Begin(c.model.room)
	enter, labels, by := g.NewLabel(), make([]h.Label, len(b.insns)+1), 0
	g.Bind(enter)
	g.enter(b.lineUsed, &b.only)
	for i := range labels {
		labels[i] = g.NewLabel()
		g.Bind(labels[i])
		if g.insn = i; i == len(b.insns) {
			break
		}
		if g.next = b.insns[i].next; !e.coder.GenerateTimed(g, &b.insns[i]) {
			g.Jmp(g.Slow())
			if by++; by*fewest > len(b.insns) {
				return
			}
		}
	}
	if b.ops[len(b.ops)-1].Flags&Ends == 0 {
		g.goTo(b.end)
	}
	g.settle(&b.key)
	g.onward(w, number(&g.modelWriter, &e.gen), number(&g.modelWriter, &e.turn))
	if g.Finish(); g.Full() {
		c.emptyRoom()
		return
	}
	room := c.model.room
	place := room.Keep(g.Len())
	w.enter = room.Address(place + g.Place(enter))
	for _, l := range labels {
		w.places = append(w.places, room.Address(place+g.Place(l)))
	}
	b.native = w
	e.whole = append(e.whole, b)
}

// byCode executes blocks by their code as long as they have some, and returns the one that is to be executed by functions;
// or nil when Run is to look around. It makes the code of a block that has been executed by functions often.
func (e *Engine[C, P]) byCode(b *Block[C, P]) *Block[C, P] {
	if e.isCoded(b) {
		if b = e.runCoded(b); b == nil {
			return nil
		}
	}
	if b.warm <= e.hot {
		if b.warm++; b.warm > e.hot {
			e.encodeWhole(b)
		}
	}
	return b
}

// runCoded executes blocks by their code from one on that has some. It returns the next block when that has none, or nil
// when Run is to look around.
func (e *Engine[C, P]) runCoded(b *Block[C, P]) *Block[C, P] {
	at := b.native.places[0]
	for {
		e.turn = min(e.until, e.retire+timedTurn)
		left := h.Do(at, unsafe.Pointer(&e.Core))
		b = e.whole[left>>leftBlock]
		switch left & (1<<leftInsn - 1) {
		case leftEnter:
			e.block, e.idx = b, between
			if b.phase == gone {
				return nil
			}
			e.fetchLines(b) // which changes nothing when the lines were used last
			at = b.native.places[0]
			continue
		case leftExecute:
			i := int(left >> leftInsn & 0xff)
			in := &b.insns[i]
			e.cur, e.idx, e.R[PC] = &b.timed, i, in.next
			if in.Exec(e.self, &in.Operands); e.Stop != 0 {
				e.stop(b)
				return nil
			}
			if e.isCoded(b) {
				at = b.native.places[i+1]
				continue
			}
			if e.executeFrom(b, i+1); e.Stop != 0 {
				e.stop(b)
				return nil
			}
			e.settleExecuted(b)
		case leftSettle:
			e.cur = &b.timed
			e.settleExecuted(b)
		case leftRested:
			e.cur = &b.timed
			if e.course != 0 {
				e.settleBranch(e.model.done)
				e.course = 0
			}
			e.rested(&b.timed)
		}
		next := e.onward(b)
		if next == nil || !e.isCoded(next) {
			return next
		}
		if e.isCoded(b) {
			b.native.lead(e.R[PC], e.gen, next.native.enter)
		}
		at = next.native.places[0]
	}
}

// lead has a block's code go on at an address. The first way is for what it went on at first.
func (w *wholeCode) lead(pc, gen uint64, code uintptr) {
	way := &w.ways[0]
	if way.code != 0 && way.pc != pc {
		way = &w.ways[1]
	}
	*way = timedWay{pc, gen, uint64(code)}
}

// settleExecuted gives an executed block its places in time.
func (e *Engine[C, P]) settleExecuted(b *Block[C, P]) {
	if e.settled != 0 || !e.pass(&b.timed) {
		e.settle(len(b.insns))
		e.settled = 0
	}
}

// onward returns the block behind an executed one, as runBlocks finds it, with its lines fetched; or nil when Run is to
// look around.
func (e *Engine[C, P]) onward(b *Block[C, P]) *Block[C, P] {
	e.block, e.idx = b, between
	pc := e.R[PC]
	l := &b.links[0]
	if l.pc != pc || l.gen != e.gen {
		if l = e.otherLink(b, pc); l == nil {
			return nil
		}
	}
	next := l.to
	if e.Check != 0 || e.retire >= e.until || next.phase == gone {
		return nil
	}
	if *next.lineUsed != next.only {
		e.fetchLines(next)
	}
	return next
}

// left returns a label where code is left.
func (g *Timed) left(why uint64) h.Label {
	why |= g.number << leftBlock
	for _, x := range g.exits {
		if x.why == why {
			return x.label
		}
	}
	l := g.NewLabel()
	g.exits = append(g.exits, timedExit{l, why})
	return l
}

// Slow returns a label where the present instruction is left to its function. Nothing may have changed but the host's
// registers.
func (g *Timed) Slow() h.Label { return g.left(uint64(g.insn)<<leftInsn | leftExecute) }

// Register is a register of the guest.
func (g *Timed) Register(r uint8) h.Mem { return number(&g.modelWriter, &g.c.R[r&regMask]) }

// at has Spare lead to a place in the host's memory.
func (g *Timed) at(p unsafe.Pointer) h.Mem {
	g.Const(h.Spare, uint64(uintptr(p)))
	return h.At(h.Spare, 0)
}

// short is a field of four bytes.
func (g *Timed) short(p *uint32) h.Mem { return g.field(unsafe.Pointer(p)) }

// enter leaves a block whose line is not the one that its set used last, and one that is gone: only is no line then.
func (g *Timed) enter(used, only *uint32) {
	g.Load(4, h.Main, g.at(unsafe.Pointer(only)))
	g.OpLoad(h.Cmp, 4, h.Main, g.at(unsafe.Pointer(used)))
	g.Jcc(h.NotEqual, g.left(leftEnter))
}

// goTo sets the program counter.
func (g *Timed) goTo(pc uint64) {
	g.Const(h.Spare, pc)
	g.Store(8, g.Register(PC), h.Spare)
}

// settle writes what pass does, or rest while the memo rests.
func (g *Timed) settle(key *uint64) {
	c, m, b := g.c, &g.c.memo, g.b
	num := func(p *uint64) h.Mem { return number(&g.modelWriter, p) }
	time := func(p *ticks) h.Mem { return number(&g.modelWriter, p) }
	give, resting, behind, exact := g.left(leftSettle), g.NewLabel(), g.NewLabel(), g.NewLabel()

	g.Load(4, regNode, g.short(&m.here))
	g.Op(h.Test, 4, regNode, regNode)
	g.Jcc(h.Equal, resting)
	g.OpMemImm(h.Cmp, 8, num(&c.odd), 0)
	g.Jcc(h.NotEqual, give)
	g.Const(h.Spare, b.stores)
	g.OpLoad(h.Cmp, 8, h.Spare, num(&c.sends))
	g.Jcc(h.NotEqual, give)
	g.Load(8, regKey, g.at(unsafe.Pointer(key)))
	g.Load(8, regCourse, num(&c.course))
	g.OpImm(h.Cmp, 8, regCourse, 2*oneInput)
	g.Jcc(h.GreaterOrEq, give)
	g.Op(h.Or, 8, regKey, regCourse)
	g.edge(exact, give)
	g.Bind(exact)
	g.Load(8, h.Spare, time(&c.dispatch))
	var e edge
	edge := func(at uintptr) h.Mem { return h.At(h.Main, int32(at)) }
	g.LoadSigned(8, 4, h.Other, edge(unsafe.Offsetof(e.dispatch)))
	g.Op(h.Add, 8, h.Other, h.Spare)
	g.Store(8, time(&c.dispatch), h.Other)
	g.LoadSigned(8, 4, h.Other, edge(unsafe.Offsetof(e.retire)))
	g.Op(h.Add, 8, h.Other, h.Spare)
	g.Store(8, time(&c.retire), h.Other)
	g.Load(4, h.Main, edge(unsafe.Offsetof(e.to)))
	g.Mov(4, h.Spare, h.Main)
	g.OpImm(h.And, 4, h.Spare, 1<<edgeLive-1)
	g.Store(4, g.short(&m.here), h.Spare)
	g.ShiftImm(h.Shr, 4, h.Main, edgeLive)
	g.Store(8, num(&c.live), h.Main)
	g.OpMemImm(h.Add, 8, num(&m.found), 1)
	g.OpMemImm(h.Add, 8, num(&c.count), int32(len(b.ops)))
	predicted := g.NewLabel()
	g.OpImm(h.Test, 1, regCourse, mispredicted)
	g.Jcc(h.Equal, predicted)
	g.OpMemImm(h.Add, 8, time(&c.step.Stalls.Mispredict), int32(c.ev[evMispredict]))
	g.Bind(predicted)
	g.Load(8, h.Spare, num(&c.sequence))
	g.Store(8, num(&c.placed), h.Spare)
	g.StoreImm(8, num(&c.course), 0)
	g.StoreImm(8, num(&c.sends), 0)
	g.Jmp(behind)

	g.Bind(resting)
	g.OpMemImm(h.Cmp, 4, g.short(&m.pause), 0)
	g.Jcc(h.Equal, give)
	g.OpMemImm(h.Cmp, 8, number(&g.modelWriter, &c.settled), 0)
	g.Jcc(h.NotEqual, give)
	g.OpMemImm(h.Cmp, 8, num(&c.course), oneInput)
	g.Jcc(h.GreaterOrEq, give)
	rested := g.left(leftRested)
	g.steps(give, rested)
	g.OpMemImm(h.Sub, 4, g.short(&m.pause), 1)
	g.Const(h.Main, forwards)
	g.Const(h.Other, 0)
	g.Load(8, h.Spare, time(&c.drained))
	g.Op(h.Cmp, 8, h.Spare, regDispatch)
	g.Cmov(h.LessOrEq, 8, h.Main, h.Other)
	g.Store(8, num(&c.live), h.Main)
	g.Const(h.Main, ^(b.minds &^ oddStray))
	g.OpStore(h.Test, 8, num(&c.odd), h.Main)
	g.Jcc(h.NotEqual, rested)
	g.StoreImm(8, num(&c.odd), 0)
	g.StoreImm(8, num(&c.sends), 0)
	g.Bind(behind)
}

// What the passage along an edge keeps in registers.
const (
	regNode   = h.Local1
	regKey    = h.Local2
	regCourse = h.Local3
	regInput  = h.Local4
	regHash   = h.Local5
)

// edge has Main lead to the edge with the key in regKey and at most one input, from the node in regNode, and goes on at a
// label; or at another one when there is none.
func (g *Timed) edge(found, none h.Label) {
	m := &g.c.memo
	var e edge
	size := int32(unsafe.Sizeof(e))
	mine := func(at int32, from bool) {
		next, plain := g.NewLabel(), g.NewLabel()
		g.OpLoad(h.Cmp, 8, regKey, h.At(h.Main, at+int32(unsafe.Offsetof(e.key))))
		g.Jcc(h.NotEqual, next)
		if from {
			g.OpLoad(h.Cmp, 4, regNode, h.At(h.Main, at+int32(unsafe.Offsetof(e.from))))
			g.Jcc(h.NotEqual, next)
		}
		g.OpImm(h.Test, 4, regKey, allInputs)
		g.Jcc(h.Equal, plain)
		g.OpLoad(h.Cmp, 8, regInput, h.At(h.Main, at+int32(unsafe.Offsetof(e.input))))
		g.Jcc(h.NotEqual, next)
		g.Bind(plain)
		if at != 0 {
			g.OpImm(h.Add, 8, h.Main, at)
		}
		g.Jmp(found)
		g.Bind(next)
	}
	g.Load(8, regInput, number(&g.modelWriter, &m.inputs[0]))
	g.MultiplyImm(8, h.Main, regNode, size)
	g.OpLoad(h.Add, 8, h.Main, g.field(unsafe.Pointer(&m.edges)))
	mine(0, false)
	// What pair does.
	alone := g.NewLabel()
	g.Mov(8, regHash, regNode)
	g.ShiftImm(h.Shl, 8, regHash, 40)
	g.Op(h.Xor, 8, regHash, regKey)
	g.OpImm(h.Test, 4, regKey, allInputs)
	g.Jcc(h.Equal, alone)
	g.Mov(8, h.Spare, regInput)
	g.ShiftImm(h.Rol, 8, h.Spare, 20)
	g.Op(h.Xor, 8, regHash, h.Spare)
	g.Bind(alone)
	g.Const(h.Spare, golden)
	g.Multiply(8, regHash, h.Spare)
	g.Load(8, h.Spare, g.field(unsafe.Pointer(&m.pairs)))
	g.ShiftCL(h.Shr, 8, regHash)
	g.MultiplyImm(8, h.Main, regHash, 2*size)
	g.OpLoad(h.Add, 8, h.Main, g.field(unsafe.Pointer(&m.others)))
	mine(0, true)
	mine(size, true)
	g.Jmp(none)
}

// onward writes the ways to other blocks, and what code is left by. The ways are none of the code: the host would have
// to look at it anew whenever one changes.
func (g *Timed) onward(ways *wholeCode, gen, turn h.Mem) {
	look := g.left(leftBehind)
	g.OpMemImm(h.Cmp, 4, g.short(&g.c.Check), 0)
	g.Jcc(h.NotEqual, look)
	g.Load(8, h.Spare, number(&g.modelWriter, &g.c.retire))
	g.OpLoad(h.Cmp, 8, h.Spare, turn)
	g.Jcc(h.GreaterOrEq, look)
	g.Load(8, h.Main, g.Register(PC))
	g.Load(8, h.Other, gen)
	var w timedWay
	for i := range ways.ways {
		on, way := g.NewLabel(), g.at(unsafe.Pointer(&ways.ways[i]))
		g.OpLoad(h.Cmp, 8, h.Main, way)
		g.Jcc(h.NotEqual, on)
		way.Disp = int32(unsafe.Offsetof(w.gen))
		g.OpLoad(h.Cmp, 8, h.Other, way)
		g.Jcc(h.NotEqual, look)
		way.Disp = int32(unsafe.Offsetof(w.code))
		g.JmpMem(way)
		g.Bind(on)
	}
	g.Jmp(look)
	for _, m := range g.misses {
		g.Bind(m.miss)
		g.insn = m.insn
		g.Load(m.size, h.Main, h.At(h.Main, 0))
		g.bring(m.size)
		g.Jmp(m.back)
	}
	for _, x := range g.exits {
		g.Bind(x.label)
		g.Const(h.Main, x.why)
		g.Ret()
	}
}
