package ppc64

import (
	"math"
	"reflect"

	"kprobesim/cpus/engine"
	h "kprobesim/internal/hostcode"
)

// Host code of frequent instructions (engine.Emitter), in 64-bit mode. What an instruction does is
// described by its function; here stands the same for the frequent case.

// emit writes the code of an instruction, and reports false when it has none with its operands.
type emit func(g *engine.Code, in *inst) bool

// codes are the functions that have code, by numbers of which none is zero.
var codes = []struct {
	exec exec
	emit emit
}{
	{},
	{nop, func(*engine.Code, *inst) bool { return true }},
	{add, arithmeticCode(h.Add)},
	{subf, subtractCode},
	{mulld, multiplyCode},
	{and, arithmeticCode(h.And)},
	{or, arithmeticCode(h.Or)},
	{xor, arithmeticCode(h.Xor)},
	{extsb, extendCode(1)},
	{extsh, extendCode(2)},
	{extsw, extendCode(4)},
	{rld, rotateCode},
	{rlwinm, rotateWordCode},
	{cmpd, compareCode(8, h.Less)},
	{cmpw, compareCode(4, h.Less)},
	{cmpld, compareCode(8, h.Below)},
	{cmplw, compareCode(4, h.Below)},
	{lbz, loadCode(1, 0)},
	{lhz, loadCode(2, 0)},
	{lwz, loadCode(4, 0)},
	{ld, loadCode(8, 0)},
	{lha, loadCode(2, 2)},
	{lwa, loadCode(4, 4)},
	{stb, storeCode(1, false)},
	{sth, storeCode(2, false)},
	{stw, storeCode(4, false)},
	{std, storeCode(8, false)},
	{stwu, storeCode(4, true)},
	{stdu, storeCode(8, true)},
	{jump, func(g *engine.Code, in *inst) bool { g.Goto(g.Next() + in.imm); return true }},
	{call, callCode},
	{linkNext, linkCode},
	{branchLR, returnCode},
	{branchCTR, indirectCode},
	{branchTrue, conditionCode(h.NotEqual)},
	{branchFalse, conditionCode(h.Equal)},
	{branchCount, countCode},
	{branchCountZero, countCode},
}

// codeNumbers are the numbers by function.
var codeNumbers = numbersOfCodes()

func numbersOfCodes() map[uintptr]uint8 {
	all := map[uintptr]uint8{}
	for i, x := range codes[1:] {
		all[reflect.ValueOf(x.exec).Pointer()] = uint8(i + 1)
	}
	return all
}

// codeOf is the number of a function's code, or zero when it has none. Code sets no XER.
func codeOf(f exec, overflow bool) uint8 {
	if f == nil || overflow {
		return 0
	}
	return codeNumbers[reflect.ValueOf(f).Pointer()]
}

// Emit implements engine.Emitter.
func (c *CPU) Emit(g *engine.Code, block []decoded, i int) bool {
	p := &block[i].Operands
	if p.code == 0 || c.AddrMask != math.MaxUint64 || !codes[p.code].emit(g, p) {
		return false
	}
	if p.record {
		g.Op(h.Test, 8, h.Main, h.Main)
		orderCode(g, h.Less)
		g.Store(8, g.Register(rCR0), h.Main)
	}
	return true
}

// Pinned implements engine.Emitter: guest registers stay in memory.
func (c *CPU) Pinned() []engine.Pin { return nil }

// Materialize implements engine.Emitter: code leaves nothing to be computed.
func (c *CPU) Materialize() {}

// isInt32 reports that a number is its lowest four bytes, extended with the sign.
func isInt32(v uint64) bool { return int64(v) == int64(int32(v)) }

// firstCode has a register of the host have the first operand.
func firstCode(g *engine.Code, to h.Reg, in *inst) { g.Load(8, to, g.Register(in.a)) }

// secondCode has a register of the host have the second operand.
func secondCode(g *engine.Code, to h.Reg, in *inst) {
	if in.b == rZero {
		g.Const(to, in.imm)
		return
	}
	g.Load(8, to, g.Register(in.b))
	addCode(g, to, in.imm)
}

func resultCode(g *engine.Code, in *inst, from h.Reg) bool {
	g.Store(8, g.Register(in.dst), from)
	return true
}

func arithmeticCode(op h.Alu) emit {
	return func(g *engine.Code, in *inst) bool {
		firstCode(g, h.Main, in)
		switch {
		case in.b == rZero && isInt32(in.imm):
			g.OpImm(op, 8, h.Main, int32(in.imm))
		case in.imm == 0:
			g.OpLoad(op, 8, h.Main, g.Register(in.b))
		default:
			secondCode(g, h.Spare, in)
			g.Op(op, 8, h.Main, h.Spare)
		}
		return resultCode(g, in, h.Main)
	}
}

func subtractCode(g *engine.Code, in *inst) bool {
	secondCode(g, h.Main, in)
	g.OpLoad(h.Sub, 8, h.Main, g.Register(in.a))
	return resultCode(g, in, h.Main)
}

func multiplyCode(g *engine.Code, in *inst) bool {
	secondCode(g, h.Main, in)
	firstCode(g, h.Spare, in)
	g.Multiply(8, h.Main, h.Spare)
	return resultCode(g, in, h.Main)
}

// extendCode extends the lowest bytes by their sign.
func extendCode(size int) emit {
	return func(g *engine.Code, in *inst) bool {
		g.LoadSigned(8, size, h.Main, g.Register(in.a)) // the lowest byte is the first one
		return resultCode(g, in, h.Main)
	}
}

func rotateCode(g *engine.Code, in *inst) bool {
	firstCode(g, h.Main, in)
	switch {
	case in.sh != 0 && in.imm == math.MaxUint64<<in.sh:
		g.ShiftImm(h.Shl, 8, h.Main, in.sh)
	case in.sh != 0 && in.imm == math.MaxUint64>>(64-in.sh):
		g.ShiftImm(h.Shr, 8, h.Main, 64-in.sh)
	default:
		if in.sh != 0 {
			g.ShiftImm(h.Rol, 8, h.Main, in.sh)
		}
		maskCode(g, in.imm)
	}
	return resultCode(g, in, h.Main)
}

// maskCode clears the bits of Main that a mask has not.
func maskCode(g *engine.Code, m uint64) {
	switch {
	case m == math.MaxUint64:
	case isInt32(m):
		g.OpImm(h.And, 8, h.Main, int32(m))
	default:
		g.Const(h.Spare, m)
		g.Op(h.And, 8, h.Main, h.Spare)
	}
}

func rotateWordCode(g *engine.Code, in *inst) bool {
	g.Load(4, h.Main, g.Register(in.a))
	if in.sh&31 != 0 {
		g.ShiftImm(h.Rol, 4, h.Main, in.sh&31)
	}
	if in.imm > math.MaxUint32 { // the word is in both halves
		g.Mov(8, h.Spare, h.Main)
		g.ShiftImm(h.Shl, 8, h.Spare, 32)
		g.Op(h.Or, 8, h.Main, h.Spare)
	}
	maskCode(g, in.imm)
	return resultCode(g, in, h.Main)
}

// compareCode sets a field of the condition register by a comparison of size bytes.
func compareCode(size int, less h.Cond) emit {
	return func(g *engine.Code, in *inst) bool {
		g.Load(size, h.Main, g.Register(in.a))
		switch {
		case in.b == rZero && (size == 4 || isInt32(in.imm)):
			g.OpImm(h.Cmp, size, h.Main, int32(in.imm))
		case in.imm == 0:
			g.OpLoad(h.Cmp, size, h.Main, g.Register(in.b))
		default:
			secondCode(g, h.Spare, in)
			g.Op(h.Cmp, size, h.Main, h.Spare)
		}
		orderCode(g, less)
		return resultCode(g, in, h.Main)
	}
}

// orderCode has Main be a field of the condition register by the host's flags behind a comparison.
func orderCode(g *engine.Code, less h.Cond) {
	g.Const(h.Main, crGT)
	g.Const(h.Spare, crLT)
	g.Const(h.Other, crEQ)
	g.Cmov(less, 4, h.Main, h.Spare)
	g.Cmov(h.Equal, 4, h.Main, h.Other)
	g.Load(8, h.Spare, g.Register(rXER))
	g.ShiftImm(h.Shr, 8, h.Spare, 31)
	g.OpImm(h.And, 4, h.Spare, 1)
	g.Op(h.Or, 4, h.Main, h.Spare)
}

// addressCode has Main have the address of an operand in memory.
func addressCode(g *engine.Code, in *inst) {
	firstCode(g, h.Main, in)
	if in.b != rZero {
		g.OpLoad(h.Add, 8, h.Main, g.Register(in.b))
	}
	addCode(g, h.Main, in.imm)
}

// addCode adds a constant.
func addCode(g *engine.Code, to h.Reg, v uint64) {
	switch {
	case v == 0:
	case isInt32(v):
		g.OpImm(h.Add, 8, to, int32(v))
	default:
		g.Const(h.Other, v)
		g.Op(h.Add, 8, to, h.Other)
	}
}

// loadCode loads size bytes, and extends them by the sign when signed is not zero.
func loadCode(size, signed int) emit {
	return func(g *engine.Code, in *inst) bool {
		addressCode(g, in)
		g.Readable(size)
		g.Load(size, h.Main, h.At(h.Main, 0))
		swapCode(g, h.Main, size)
		if signed != 0 {
			g.ExtendSign(8, size, h.Main, h.Main)
		}
		return resultCode(g, in, h.Main)
	}
}

// swapCode turns the bytes of a value around that has been extended with zeroes.
func swapCode(g *engine.Code, r h.Reg, size int) {
	switch size {
	case 8, 4:
		g.Swap(size, r)
	case 2:
		g.ShiftImm(h.Rol, 2, r, 8)
	}
}

// storeCode stores size bytes, and the address too if the instruction updates it.
func storeCode(size int, update bool) emit {
	return func(g *engine.Code, in *inst) bool {
		addressCode(g, in)
		g.Writable(size)
		g.Load(8, h.Spare, g.Register(in.s))
		swapCode(g, h.Spare, size)
		g.Store(size, h.At(h.Main, 0), h.Spare)
		if update {
			addressCode(g, in)
			g.Store(8, g.Register(in.a), h.Main)
		}
		return true
	}
}

// conditionCode is a branch on a bit of the condition register.
func conditionCode(taken h.Cond) emit {
	return func(g *engine.Code, in *inst) bool {
		g.OpMemImm(h.Test, 1, g.Register(in.s), int32(in.sh))
		g.Branch(taken, g.Next()+in.imm)
		return true
	}
}

// countCode is a branch on the count register.
func countCode(g *engine.Code, in *inst) bool {
	taken := h.NotEqual
	if in.aux&boWantZero != 0 {
		taken = h.Equal
	}
	g.OpMemImm(h.Sub, 8, g.Register(rCTR), 1)
	g.Branch(taken, g.Next()+in.imm)
	return true
}

// linkCode is a branch that notes where it comes from.
func linkCode(g *engine.Code, in *inst) bool {
	g.Const(h.Main, g.Next())
	g.Store(8, g.Register(rLR), h.Main)
	g.Goto(g.Next() + in.imm)
	return true
}

func callCode(g *engine.Code, in *inst) bool {
	g.Called()
	return linkCode(g, in)
}

func returnCode(g *engine.Code, _ *inst) bool {
	targetCode(g, rLR)
	g.Return()
	return true
}

func indirectCode(g *engine.Code, _ *inst) bool {
	targetCode(g, rCTR)
	g.Indirect()
	return true
}

// targetCode has Main have the target of a branch to a register.
func targetCode(g *engine.Code, r uint8) {
	g.Load(8, h.Main, g.Register(r))
	g.OpImm(h.And, 8, h.Main, ^3)
}
