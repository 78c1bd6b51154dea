package engine

import h "kprobesim/internal/hostcode"

// noteColumns does what Core.noteColumns does of an aligned operand of size bytes at the address in Local8.
func (g *Code) noteColumns(size int) {
	c, none := g.c, g.NewLabel()
	g.Mov(4, h.Spare, h.Local8)
	g.ShiftImm(h.Shr, 4, h.Spare, uint8(c.columnShift))
	g.OpImm(h.And, 4, h.Spare, int32(c.columnMask))
	g.Load(8, h.Local9, g.number64(&c.columns))
	g.Mov(8, h.Local5, h.Local9)
	g.ShiftCL(h.Shr, 8, h.Local5)
	n := max(size>>c.columnShift, 1)
	g.Const(h.Other, 1<<n-1)
	g.ShiftCL(h.Shl, 8, h.Other)
	g.ShiftImm(h.Shl, 8, h.Local9, laneBits)
	g.Op(h.Or, 8, h.Local9, h.Other)
	g.Store(8, g.number64(&c.columns), h.Local9)
	g.Const(h.Other, 0)
	for i := range n {
		g.columnMates(i)
	}
	g.Op(h.Test, 8, h.Other, h.Other)
	g.Jcc(h.Equal, none)
	g.ShiftImm(h.Shl, 8, h.Spare, firstColumn)
	g.Op(h.Or, 8, h.Other, h.Spare)
	g.ShiftImm(h.Shl, 8, h.Other, 16)
	g.Mov(4, h.Spare, h.Local7)
	g.ShiftImm(h.Shl, 4, h.Spare, 8)
	g.Op(h.Or, 8, h.Other, h.Spare)
	g.OpImm(h.Or, 8, h.Other, inColumns)
	g.note(h.Other)
	g.Bind(none)
}

// columnMates adds to Other the loads before this one that read its column i, if they are several. Local5 has the columns of
// those loads from this one's first column on.
func (g *Code) columnMates(i int) {
	alone := g.NewLabel()
	g.Const(h.Local4, lanes)
	g.Mov(8, h.Local3, h.Local5)
	if i > 0 {
		g.ShiftImm(h.Shr, 8, h.Local3, uint8(i))
	}
	g.Op(h.And, 8, h.Local3, h.Local4)
	g.Lea(8, h.Local4, h.At(h.Local3, -1))
	g.Op(h.Test, 8, h.Local4, h.Local3)
	g.Jcc(h.Equal, alone)
	g.Const(h.Local4, packLanes)
	g.Multiply(8, h.Local3, h.Local4)
	g.ShiftImm(h.Shr, 8, h.Local3, 48)
	if i > 0 {
		g.ShiftImm(h.Shl, 8, h.Local3, uint8(i*columnLoads))
	}
	g.Op(h.Or, 8, h.Other, h.Local3)
	g.Bind(alone)
}
