package x86

import h "kprobesim/internal/hostcode"

var shiftOf = map[nativeOp]h.Shift{nShl: h.Shl, nShr: h.Shr, nSar: h.Sar, nRol: h.Rol, nRor: h.Ror}

// inPlace returns where a register of the guest is changed: its own one, or RAX with its value, which done writes back.
func (g *generator) inPlace(size int, r uint8) h.Reg {
	if p := g.Pin(r); p != h.NoReg {
		return p
	}
	g.Load(size, h.RAX, g.Register(r))
	return h.RAX
}

func (g *generator) done(r uint8, at h.Reg) {
	if at == h.RAX {
		g.give(8, r, at)
	}
}

// shift writes shifts by a constant. A rotate keeps some flags, and so it has code only where nobody looks at any.
func (g *generator) shift(in *inst, size int) bool {
	o := in.native.op()
	rotates := o == nRol || o == nRor
	if in.native.place() != inReg || size < 4 || !in.constantShift() || rotates && g.keep {
		return false
	}
	at := g.inPlace(size, in.dst)
	how := kindOf(o, size)
	if g.keep {
		g.Store(size, g.old, at)
		g.StoreImm(1, g.count, int32(in.shiftBy()))
	}
	g.ShiftImm(shiftOf[o], size, at, in.shiftBy())
	g.done(in.dst, at)
	if rotates {
		g.known, g.live = 0, false
		return true
	}
	g.flags(how, at)
	return true
}

// one writes what has a register as its only operand, and little else.
func (g *generator) one(in *inst, size int) bool {
	if size < 4 || highByte(in.dst) {
		return false
	}
	switch o := in.native.op(); o {
	case nWiden:
		at := g.inPlace(size, rax)
		g.ExtendSign(size, size/2, at, at)
		g.done(rax, at)
		return true
	case nSplit:
		g.live = false
		g.take(size, h.RAX, rax)
		g.ShiftImm(h.Sar, size, h.RAX, uint8(8*size-1))
		g.give(8, rdx, h.RAX)
		return true
	case nXchg:
		a, b := g.scratch(in.dst, h.RAX), g.scratch(in.src, h.RCX)
		g.Mov(size, h.RDX, a)
		g.Mov(size, h.RAX, b)
		g.give(8, in.dst, h.RAX)
		g.give(8, in.src, h.RDX)
		return true
	case nInc, nDec:
		if g.keep {
			return false
		}
	}
	at := g.inPlace(size, in.dst)
	switch in.native.op() {
	case nNot:
		g.One(h.Not, size, at)
	case nSwap:
		g.Swap(size, at)
	case nNeg:
		if g.keep {
			g.StoreImm(8, g.old, 0)
		}
		g.One(h.Neg, size, at)
		g.done(in.dst, at)
		g.flags(kindOf(nNeg, size), at)
		return true
	case nInc, nDec:
		o := h.Add
		if in.native.op() == nDec {
			o = h.Sub
		}
		g.OpImm(o, size, at, 1)
		g.known, g.live = 0, false
	}
	g.done(in.dst, at)
	return true
}

// multiply writes imul of registers.
func (g *generator) multiply(in *inst, size int) bool {
	if size < 4 || in.native.place() != inReg {
		return false
	}
	at := h.RAX
	if in.native.op() == nImulBy {
		g.MultiplyImm(size, at, g.scratch(in.src, h.RCX), int32(in.imm))
	} else {
		at = g.inPlace(size, in.dst)
		g.Multiply(size, at, g.scratch(in.src, h.RCX))
	}
	g.countFlag(h.Overflow)
	g.done(in.dst, at)
	g.flags(kindOf(in.native.op(), size), at)
	return true
}

// countFlag keeps a flag of the host where shifts have their count, if flags are looked at. RCX changes.
func (g *generator) countFlag(cond h.Cond) {
	if g.keep {
		g.Set(cond, h.RCX)
		g.Store(1, g.count, h.RCX)
	}
}

// carry writes adc and sbb of registers, where the host's carry can be the guest's.
func (g *generator) carry(in *inst, size int) bool {
	if in.native.place() != inReg || size < 4 || !g.recall(condB) {
		return false
	}
	alu := h.Adc
	if in.native.op() == nSbb {
		alu = h.Sbb
	}
	g.countFlag(h.Below)
	at := g.inPlace(size, in.dst)
	if g.keep {
		g.Store(size, g.old, at)
	}
	g.source(alu, in, size, at)
	g.done(in.dst, at)
	g.flags(kindOf(in.native.op(), size), at)
	return true
}

// recall has the host's flags say whether a condition of the guest holds, and reports whether it could. RAX and RCX
// change.
func (g *generator) recall(cond uint8) bool {
	if g.live {
		g.Follows(g.set)
		return true
	}
	how := g.known
	size := how.bytes()
	switch {
	case how == 0 && cond&^1 == condE:
		g.OpMemImm(h.Cmp, 8, g.res, 0)
		return true
	case how == 0:
		return false
	case how <= lazySum64:
		g.Load(size, h.RAX, g.old)
		g.Load(size, h.RCX, g.res)
		g.Op(h.Sub, size, h.RCX, h.RAX)
		g.Op(h.Add, size, h.RAX, h.RCX)
	case how <= lazyDiff64:
		g.Load(size, h.RAX, g.old)
		g.Mov(8, h.RCX, h.RAX)
		g.OpLoad(h.Sub, size, h.RCX, g.res)
		g.Op(h.Cmp, size, h.RAX, h.RCX)
	default:
		c := cond &^ 1
		if how&^3 != lazyLogic8 && c != condE && c != condS && c != condP {
			return false
		}
		g.Load(size, h.RAX, g.res)
		g.Op(h.Test, size, h.RAX, h.RAX)
		g.Follows(g.set)
		return true
	}
	g.live = true
	g.Follows(g.set)
	return true
}

// conditional writes setcc and cmovcc between registers.
func (g *generator) conditional(in *inst, size int) bool {
	if highByte(in.dst) || in.native.op() == nCmov && size < 4 || !g.recall(in.aux) {
		return false
	}
	cond := h.Cond(in.aux)
	if in.native.op() == nSet {
		if p := g.Pin(in.dst); p != h.NoReg {
			g.Set(cond, p)
			return true
		}
		g.Set(cond, h.RAX)
		g.Store(1, g.Register(in.dst), h.RAX)
		return true
	}
	at := g.inPlace(size, in.dst)
	g.Cmov(cond, size, at, g.scratch(in.src, h.RCX))
	g.done(in.dst, at)
	return true
}

// compareExchange writes cmpxchg with an operand in memory. Locked or not is the same: an instruction is the unit.
func (g *generator) compareExchange(in *inst, size int) bool {
	if highByte(in.src) || size < 4 {
		return false
	}
	g.address(in)
	g.Modifiable(size)
	g.Load(size, h.RCX, h.At(h.RAX, 0))
	g.take(size, h.RDX, rax)
	if g.keep {
		g.Store(size, g.old, h.RDX)
	}
	g.Op(h.Sub, size, h.RDX, h.RCX)
	g.flags(kindOf(nCmpxchg, size), h.RDX)
	g.live = false
	other, end := g.NewLabel(), g.NewLabel()
	g.Jcc(h.NotEqual, other)
	g.Store(size, h.At(h.RAX, 0), g.scratch(in.src, h.RDX))
	g.Jmp(end)
	g.Bind(other)
	g.give(8, rax, h.RCX)
	g.Bind(end)
	return true
}

// moveStack moves the stack pointer by a number of bytes, cut off to the mode's addresses. The host's flags may change.
func (g *generator) moveStack(n int32) {
	size := 8
	if !g.long {
		size = 4
	}
	if sp := g.Pin(rsp); sp != h.NoReg {
		g.Lea(size, sp, h.At(sp, n))
		return
	}
	g.OpMemImm(h.Add, size, g.Register(rsp), n)
}

// below has RAX lead to the word below the top of the stack, which is to be written.
func (g *generator) below(size int) {
	g.live = false
	sp := g.scratch(rsp, h.RAX)
	if g.long {
		g.Lea(8, h.RAX, h.At(sp, -8))
	} else {
		g.Lea(4, h.RAX, h.At(sp, -4))
	}
	g.Writable(size)
}

// stack writes push and pop.
func (g *generator) stack(in *inst, size int) bool {
	if in.native.op() == nPush {
		g.below(size)
		g.put(in, size)
		g.moveStack(int32(-size))
		return true
	}
	g.top(size)
	g.Load(size, h.RCX, h.At(h.RAX, 0))
	g.moveStack(int32(size))
	g.give(8, in.dst, h.RCX)
	return true
}

// top has RAX lead to the top of the stack.
func (g *generator) top(size int) {
	g.live = false
	g.take(8, h.RAX, rsp)
	g.Readable(size)
}

// branch writes what ends a block. The target of a direct branch is cut off to the mode's addresses by the engine.
func (g *generator) branch(in *inst, size int) bool {
	switch in.native.op() {
	case nJmp:
		g.Goto(g.Next() + in.imm)
	case nJcc:
		if !g.recall(in.aux) {
			return false
		}
		g.Branch(h.Cond(in.aux), g.Next()+in.imm)
	case nCall:
		g.pushNext(size)
		g.Called()
		g.Goto(g.Next() + in.imm)
	case nRet:
		g.top(size)
		g.Load(size, h.RAX, h.At(h.RAX, 0))
		g.moveStack(int32(size) + int32(in.imm))
		g.Return()
	case nJmpTo:
		g.target(in, size)
		g.Indirect()
	case nCallTo:
		g.target(in, size)
		g.Store(8, g.Register(rRIP), h.RAX) // a reference function sets it again
		g.pushNext(size)
		g.Called()
		g.Load(8, h.RAX, g.Register(rRIP))
		g.Indirect()
	default:
		return false
	}
	g.known, g.live = 0, false
	return true
}

// pushNext pushes the address of the next instruction.
func (g *generator) pushNext(size int) {
	g.below(size)
	g.Const(h.RCX, g.Next())
	g.Store(size, h.At(h.RAX, 0), h.RCX)
	g.moveStack(int32(-size))
}

// target reads where an indirect branch goes.
func (g *generator) target(in *inst, size int) {
	if in.native.place() == inReg {
		g.take(size, h.RAX, in.src)
		return
	}
	g.address(in)
	g.Readable(size)
	g.Load(size, h.RAX, h.At(h.RAX, 0))
}
