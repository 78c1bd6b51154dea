package engine

import (
	"unsafe"

	h "kprobesim/internal/hostcode"
)

// What the routine of a memo hit keeps in registers. The first three are given to it.
const (
	regKey     = h.Local2 // of the block
	regCount   = h.Local6 // instructions of the block
	regStores  = h.Spare  // those that store, by bits
	regNode    = h.Local1
	regOutcome = h.Local3
	regInput   = h.Local4
	regHash    = h.Local5
)

// settleCode gives the block its times by the memo, or leaves the code for the engine to do it.
func (g *Code) settleCode(by int) {
	g.Const(regKey, g.key)
	g.Const(regCount, uint64(len(g.ops)))
	g.Const(regStores, g.stores)
	g.CallTo(g.routines.settle)
	g.Jcc(h.Below, g.exit(exitSettle, by)) // the carry
}

// followMemo is the routine of a memo hit: it does what Core.hitMemo does. It returns with the carry,
// and nothing changed, on a memo miss.
func (g *Code) followMemo() {
	c, m := g.c, &g.c.memo
	miss, hit := g.NewLabel(), g.NewLabel()
	here := g.Field(unsafe.Pointer(&m.here))
	g.Load(4, regNode, here)
	g.Op(h.Test, 4, regNode, regNode)
	g.Jcc(h.Equal, miss)
	g.OpMemImm(h.Cmp, 8, g.number64(&c.irregular), 0)
	g.Jcc(h.NotEqual, miss)
	g.OpLoad(h.Cmp, 8, regStores, g.number64(&c.sends))
	g.Jcc(h.NotEqual, miss)
	g.Load(8, regOutcome, g.number64(&c.outcome))
	g.Op(h.Or, 8, regKey, regOutcome)
	if c.loops {
		g.Load(8, h.Spare, g.number64(&c.loop.passes))
		g.OpImm(h.And, 4, h.Spare, streaming)
		g.Op(h.Or, 8, regKey, h.Spare)
	}
	g.findEdge(hit, miss)
	g.Bind(hit)
	g.followEdge(here)
	predicted := g.NewLabel()
	g.OpStore(h.Add, 8, g.number64(&c.count), regCount)
	g.OpImm(h.Test, 1, regOutcome, mispredicted) // without a carry, as the sum of times
	g.Jcc(h.Equal, predicted)
	g.OpMemImm(h.Add, 8, g.time(&c.step.Stalls.Mispredict), int32(c.ev[evMispredict]))
	g.Bind(predicted)
	g.Load(8, h.Spare, g.number64(&c.sequence))
	g.Store(8, g.number64(&c.placed), h.Spare)
	g.StoreImm(8, g.number64(&c.outcome), 0)
	g.StoreImm(8, g.number64(&c.sends), 0)
	g.Ret()
	g.Bind(miss)
	g.Carry(true)
}

// followEdge does what Core.follow does with the edge that Main leads to. It has the host fetch the first edge of the
// next node, because its memory may take its time.
func (g *Code) followEdge(here h.Mem) {
	c, m := g.c, &g.c.memo
	var e edge
	edge := func(at uintptr) h.Mem { return h.At(h.Main, int32(at)) }
	g.LoadSigned(8, 4, h.Other, edge(unsafe.Offsetof(e.dispatch)))
	g.LoadSigned(8, 4, h.Local9, edge(unsafe.Offsetof(e.retire)))
	g.Load(4, h.Main, edge(unsafe.Offsetof(e.to)))
	g.Mov(4, h.Spare, h.Main)
	g.OpImm(h.And, 4, h.Spare, 1<<edgeLive-1)
	g.Store(4, here, h.Spare)
	g.MultiplyImm(8, h.Spare, h.Spare, int32(unsafe.Sizeof(e)))
	g.OpLoad(h.Add, 8, h.Spare, g.Field(unsafe.Pointer(&m.edges)))
	g.Prefetch(h.At(h.Spare, 0))
	g.ShiftImm(h.Shr, 4, h.Main, edgeLive)
	g.Store(8, g.number64(&c.live), h.Main)
	g.Load(8, h.Spare, g.time(&c.dispatch))
	g.Op(h.Add, 8, h.Other, h.Spare)
	g.Store(8, g.time(&c.dispatch), h.Other)
	g.Op(h.Add, 8, h.Local9, h.Spare)
	g.Store(8, g.time(&c.retire), h.Local9)
	g.OpMemImm(h.Add, 8, g.number64(&m.found), 1)
}

// findEdge has Main lead to the edge with the key in regKey from the node in regNode.
func (g *Code) findEdge(hit, miss h.Label) {
	m := &g.c.memo
	var e edge
	size := int32(unsafe.Sizeof(e))
	g.Load(8, regInput, g.number64(&m.inputs[0]))
	g.MultiplyImm(8, h.Main, regNode, size)
	g.OpLoad(h.Add, 8, h.Main, g.Field(unsafe.Pointer(&m.edges)))
	g.compareEdge(0, false, hit)
	// What memo.pair does.
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
	g.Load(8, h.Spare, g.Field(unsafe.Pointer(&m.pairs)))
	g.ShiftCL(h.Shr, 8, regHash)
	g.MultiplyImm(8, h.Main, regHash, 2*size)
	g.OpLoad(h.Add, 8, h.Main, g.Field(unsafe.Pointer(&m.others)))
	g.compareEdge(0, true, hit)
	g.compareEdge(size, true, hit)
	g.Jmp(miss)
}

// compareEdge goes on at a label if the edge at a distance from where Main leads is the wanted one. The first edge of a
// node needs no look at the node that it comes from.
func (g *Code) compareEdge(at int32, from bool, hit h.Label) {
	var e edge
	next, same, one, again := g.NewLabel(), g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.OpLoad(h.Cmp, 8, regKey, h.At(h.Main, at+int32(unsafe.Offsetof(e.key))))
	g.Jcc(h.NotEqual, next)
	if from {
		g.OpLoad(h.Cmp, 4, regNode, h.At(h.Main, at+int32(unsafe.Offsetof(e.from))))
		g.Jcc(h.NotEqual, next)
	}
	input := h.At(h.Main, at+int32(unsafe.Offsetof(e.input)))
	g.Mov(4, h.Other, regKey)
	g.OpImm(h.And, 4, h.Other, allInputs) // their number, times the bytes of one
	g.Jcc(h.Equal, same)
	g.OpImm(h.Cmp, 4, h.Other, oneInput)
	g.Jcc(h.Equal, one)
	g.Load(8, h.Local9, input)
	g.ShiftImm(h.Shl, 8, h.Local9, 3)
	g.OpLoad(h.Add, 8, h.Local9, g.Field(unsafe.Pointer(&g.c.memo.words)))
	g.Bind(again)
	g.Load(8, h.Local8, h.Mem{Base: h.Local9, Index: h.Other, Disp: -oneInput})
	given := g.number64(&g.c.memo.inputs[0])
	given.Index, given.Disp = h.Other, given.Disp-oneInput
	g.OpLoad(h.Cmp, 8, h.Local8, given)
	g.Jcc(h.NotEqual, next)
	g.OpImm(h.Sub, 4, h.Other, oneInput)
	g.Jcc(h.NotEqual, again)
	g.Jmp(same)
	g.Bind(one)
	g.OpLoad(h.Cmp, 8, regInput, input)
	g.Jcc(h.NotEqual, next)
	g.Bind(same)
	if at != 0 {
		g.OpImm(h.Add, 8, h.Main, at)
	}
	g.Jmp(hit)
	g.Bind(next)
}
