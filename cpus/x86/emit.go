package x86

import (
	"math"
	"unsafe"

	"kprobesim/cpus/engine"
	h "kprobesim/internal/hostcode"
)

// Host code of instructions (engine.Emitter). An instruction of the guest becomes a few of the host: mostly
// itself, with other registers, and an access to memory in front that leads to the bytes (engine.Code.Readable). What
// is not the frequent case is left to the function that every way shares.
//
// Of the arithmetic flags host code keeps what they follow from: the result, the first operand, and of which operation. Where a branch follows its comparison the host's own flags are the guest's. Flags that the next
// instructions set again are not kept, unless one of these can fault or be left to its function.

// pins are the registers that compilers use most.
var pins = []engine.Pin{
	{Guest: rax, Host: h.R8},
	{Guest: rcx, Host: h.R9},
	{Guest: rdx, Host: h.R10},
	{Guest: rbx, Host: h.RBX},
	{Guest: rsp, Host: h.R11},
	{Guest: rbp, Host: h.R12},
	{Guest: rsi, Host: h.RSI},
	{Guest: rdi, Host: h.RDI},
	{Guest: r12, Host: h.R13},
	{Guest: r13, Host: h.R14},
}

// Pinned implements engine.Emitter.
func (c *CPU) Pinned() []engine.Pin { return pins }

// generator writes the code of one block.
type generator struct {
	*engine.Code
	c     *CPU
	long  bool // 64-bit code
	mask  uint64
	known lazy // where the flags are, as CPU.lazy has it; zero when this is not known
	live  bool // the host's flags are the guest's
	keep  bool // the flags of the present instruction are looked at
	set   int  // number of the instruction that known and live are of
	// Fields of the CPU.
	res, old, lazy, count h.Mem
}

// newGenerator returns what writes code for a CPU.
func newGenerator(c *CPU, code *engine.Code) *generator {
	field := func(p unsafe.Pointer) h.Mem { return code.Field(p) }
	return &generator{
		Code: code, c: c,
		res: field(unsafe.Pointer(&c.res)), old: field(unsafe.Pointer(&c.old)), lazy: field(unsafe.Pointer(&c.lazy)),
		count: field(unsafe.Pointer(&c.shifted)),
	}
}

// Emit implements engine.Emitter.
func (c *CPU) Emit(code *engine.Code, block []decoded, i int) bool {
	if c.generator == nil || c.generator.Code != code {
		c.generator = newGenerator(c, code)
	}
	g := c.generator
	if i == 0 {
		g.known, g.live = 0, false
		g.long, g.mask = c.AddrMask == math.MaxUint64, c.AddrMask
	}
	g.keep = !flagsDie(block[i+1:])
	if g.insn(&block[i].Operands) {
		return true
	}
	g.known, g.live = 0, false
	return false
}

// flagsDie reports that the flags are set anew by instructions of which none before can be left.
func flagsDie(behind []decoded) bool {
	for i := range behind {
		switch f := behind[i].Operands.native; {
		case f == 0 || f.place() != inReg:
			return false
		default:
			switch f.op() {
			case nNop, nMov, nLea, nZero, nSign, nNot, nSwap, nXchg, nWiden, nSplit:
			case nAdd, nOr, nAnd, nSub, nXor, nCmp, nTest, nNeg, nImul, nImulBy:
				return true
			case nShl, nShr, nSar:
				return behind[i].Operands.constantShift()
			default:
				return false
			}
		}
	}
	return false
}

// constantShift reports a shift by a constant that is not zero.
func (in *inst) constantShift() bool { return in.src == rZero && in.shiftBy() != 0 }

// shiftBy is the constant by which it shifts.
func (in *inst) shiftBy() uint8 {
	if in.native.bytes() == 8 {
		return uint8(in.imm) & 63
	}
	return uint8(in.imm) & 31
}

// insn writes the code of one instruction, and reports false for one that has none.
func (g *generator) insn(in *inst) bool {
	size := in.native.bytes()
	switch in.native.op() {
	case nNop:
		return true
	case nAdd, nOr, nAnd, nSub, nXor, nCmp, nTest:
		return g.arithmetic(in, size)
	case nMov:
		return g.move(in, size)
	case nLea:
		return g.lea(in, size)
	case nZero, nSign:
		return g.extend(in, size)
	case nShl, nShr, nSar, nRol, nRor:
		return g.shift(in, size)
	case nNot, nNeg, nInc, nDec, nSwap, nXchg, nWiden, nSplit:
		return in.native.place() == inReg && g.one(in, size)
	case nImul, nImulBy:
		return g.multiply(in, size)
	case nAdc, nSbb:
		return g.carry(in, size)
	case nSet, nCmov:
		return in.native.place() == inReg && g.conditional(in, size)
	case nCmpxchg:
		return in.native.place() == inMem && g.compareExchange(in, size)
	case nPush, nPop:
		return g.stack(in, size)
	}
	return g.branch(in, size)
}

// scratch returns a register that has the guest's register r: the host's own for it, or the given one.
func (g *generator) scratch(r uint8, to h.Reg) h.Reg {
	if p := g.Pin(r); p != h.NoReg {
		return p
	}
	g.Load(8, to, g.Register(r))
	return to
}

// take copies a register of the guest, of which one or two bytes are extended with zeroes.
func (g *generator) take(size int, to h.Reg, r uint8) {
	p := g.Pin(r)
	switch {
	case p == h.NoReg:
		g.Load(size, to, g.Register(r))
	case size < 4:
		g.ExtendZero(size, to, p)
	default:
		g.Mov(size, to, p)
	}
}

// give writes a register of the guest: of four bytes the upper half of v must be clear, of fewer the others stay.
func (g *generator) give(size int, r uint8, v h.Reg) {
	if size == 4 {
		size = 8
	}
	if p := g.Pin(r); p != h.NoReg {
		g.Mov(size, p, v)
		return
	}
	g.Store(size, g.Register(r), v)
}

// highByte reports one of ah to bh.
func highByte(r uint8) bool { return r >= rAH && r <= rBH }

// small reports a constant that an instruction can hold, and gives it.
func small(v uint64, size int) (int32, bool) {
	return int32(v), size < 8 || int64(v) == int64(int32(v))
}

var aluOf = map[nativeOp]h.Alu{
	nAdd: h.Add, nOr: h.Or, nAnd: h.And, nSub: h.Sub, nXor: h.Xor, nCmp: h.Sub, nTest: h.And,
}

// source has op done on dst with the source of an instruction: a register or a constant. RDX may change.
func (g *generator) source(o h.Alu, in *inst, size int, dst h.Reg) {
	v, fits := small(in.imm, size)
	switch {
	case in.src != rZero && g.Pin(in.src) != h.NoReg:
		g.Op(o, size, dst, g.Pin(in.src))
	case in.src != rZero:
		g.OpLoad(o, size, dst, g.Register(in.src))
	case fits:
		g.OpImm(o, size, dst, v)
	default:
		g.Const(h.RDX, in.imm)
		g.Op(o, size, dst, h.RDX)
	}
}

// arithmetic writes sums, differences and logic, and comparisons, which are differences and logic without a result.
func (g *generator) arithmetic(in *inst, size int) bool {
	o := in.native.op()
	if highByte(in.dst) || highByte(in.src) {
		return false
	}
	alu, writes := aluOf[o], o != nCmp && o != nTest
	how := kindOf(o, size)
	at := h.RCX // where the first operand is, and then the result
	switch in.native.place() {
	case inMem:
		g.address(in)
		if writes {
			g.Modifiable(size)
		} else {
			g.Readable(size)
		}
		g.Load(size, at, h.At(h.RAX, 0))
	case inLoad:
		g.address(in)
		g.Readable(size)
		if p := g.Pin(in.dst); p != h.NoReg && writes && size >= 4 {
			at = p
		} else {
			g.take(size, at, in.dst)
		}
	default:
		if p := g.Pin(in.dst); p != h.NoReg && writes && size >= 4 {
			at = p
		} else {
			g.take(size, at, in.dst)
		}
	}
	if g.keep && how.operand() {
		g.Store(size, g.old, at)
	}
	if in.native.place() == inLoad {
		g.OpLoad(alu, size, at, h.At(h.RAX, 0))
	} else {
		g.source(alu, in, size, at)
	}
	switch {
	case !writes:
	case in.native.place() == inMem:
		g.Store(size, h.At(h.RAX, 0), at)
	case at == h.RCX:
		g.give(size, in.dst, at)
	}
	g.flags(how, at)
	return true
}

// kindOf says of what operation the flags are, of operands of some bytes.
func kindOf(o nativeOp, size int) lazy {
	log := lazy(0)
	for size > 1<<log {
		log++
	}
	switch o {
	case nAdd:
		return lazySum8 + log
	case nSub, nCmp, nNeg, nCmpxchg:
		return lazyDiff8 + log
	case nAdc:
		return lazyAdc8 + log
	case nSbb:
		return lazySbb8 + log
	case nImul, nImulBy:
		return lazyMul8 + log
	case nShl:
		return lazyShl8 + log
	case nShr:
		return lazyShr8 + log
	case nSar:
		return lazySar8 + log
	}
	return lazyLogic8 + log
}

// operand reports that the flags follow from the first operand too.
func (l lazy) operand() bool { return l < lazyLogic8 || l > lazyLogic64 }

// flags keeps a result that the flags follow from. The host's are the guest's, but not after shifts and products.
func (g *generator) flags(how lazy, result h.Reg) {
	g.known, g.live, g.set = 0, how <= lazyLogic64, g.Insn()
	if !g.keep {
		return
	}
	g.Store(8, g.res, result)
	g.StoreImm(1, g.lazy, int32(how))
	g.known = how
}

// address computes the address of an operand in memory, in RAX. RCX may change, and the host's flags.
func (g *generator) address(in *inst) {
	const to = h.RAX
	g.live = false
	size := 8
	if !g.long {
		size = 4
	}
	disp := uint64(int64(in.disp))
	switch {
	case in.base == rRIP:
		g.Const(to, (g.Next()+disp)&g.mask)
		if in.index != rZero {
			g.Lea(size, to, h.Mem{Base: to, Index: g.scratch(in.index, h.RCX), Shift: in.shift})
		}
	case in.base == rZero && in.index == rZero:
		g.Const(to, disp&g.mask)
	case in.index == rZero:
		g.Lea(size, to, h.At(g.scratch(in.base, to), in.disp))
	case in.base == rZero:
		g.Const(to, 0)
		g.Lea(size, to, h.Mem{Base: to, Index: g.scratch(in.index, h.RCX), Shift: in.shift, Disp: in.disp})
	default:
		g.Lea(size, to, h.Mem{Base: g.scratch(in.base, to), Index: g.scratch(in.index, h.RCX), Shift: in.shift, Disp: in.disp})
	}
	if in.seg != segFlat {
		g.OpLoad(h.Add, size, to, g.Field(unsafe.Pointer(&g.c.segBase[in.seg&7])))
	}
}

// move writes mov.
func (g *generator) move(in *inst, size int) bool {
	if highByte(in.dst) || highByte(in.src) {
		return false
	}
	switch in.native.place() {
	case inLoad:
		g.address(in)
		g.Readable(size)
		p := g.Pin(in.dst)
		switch {
		case p == h.NoReg:
			g.Load(size, h.RAX, h.At(h.RAX, 0))
			g.give(size, in.dst, h.RAX)
		case size < 4:
			g.LoadPart(size, p, h.At(h.RAX, 0))
		default:
			g.Load(size, p, h.At(h.RAX, 0))
		}
	case inMem:
		g.address(in)
		g.Writable(size)
		g.put(in, size)
	default:
		g.moveRegister(in, size)
	}
	return true
}

// put stores the source of an instruction, a register or a constant, where RAX leads.
func (g *generator) put(in *inst, size int) {
	if in.src != rZero {
		g.Store(size, h.At(h.RAX, 0), g.scratch(in.src, h.RCX))
		return
	}
	g.StoreImm(size, h.At(h.RAX, 0), int32(in.imm)) // which no instruction has longer
}

// moveRegister copies a register or a constant, and keeps the host's flags.
func (g *generator) moveRegister(in *inst, size int) {
	p := g.Pin(in.dst)
	switch {
	case in.src == rZero && size >= 4:
		v := in.imm
		if size == 4 {
			v = uint64(uint32(v))
		}
		if p != h.NoReg {
			g.Const(p, v)
			return
		}
		g.Const(h.RAX, v)
		g.give(8, in.dst, h.RAX)
	case in.src == rZero:
		g.Const(h.RAX, in.imm&0xffff)
		g.give(size, in.dst, h.RAX)
	case p != h.NoReg && size >= 4 && g.Pin(in.src) == h.NoReg:
		g.Load(size, p, g.Register(in.src))
	default:
		from := g.scratch(in.src, h.RAX)
		if size == 4 {
			to := p
			if p == h.NoReg {
				to = h.RAX
			}
			g.Mov(4, to, from)
			if p == h.NoReg {
				g.give(8, in.dst, h.RAX)
			}
			return
		}
		g.give(size, in.dst, from)
	}
}

// lea writes an address to a register.
func (g *generator) lea(in *inst, size int) bool {
	if size < 4 {
		return false
	}
	bare := *in
	bare.seg = segFlat
	live := g.live && in.seg == segFlat
	g.address(&bare)
	g.live = live // an address without a segment takes no sum that sets flags
	if size == 4 {
		g.Mov(4, h.RAX, h.RAX)
	}
	g.give(8, in.dst, h.RAX)
	return true
}

// extend writes movzx, movsx and movsxd.
func (g *generator) extend(in *inst, size int) bool {
	if highByte(in.src) {
		return false
	}
	signed, from := in.native.op() == nSign, in.native.from()
	to := g.Pin(in.dst)
	if to == h.NoReg {
		to = h.RAX
	}
	switch load := in.native.place() == inLoad; {
	case load:
		g.address(in)
		g.Readable(from)
		if signed {
			g.LoadSigned(size, from, to, h.At(h.RAX, 0))
		} else {
			g.Load(from, to, h.At(h.RAX, 0))
		}
	case signed:
		g.ExtendSign(size, from, to, g.scratch(in.src, h.RAX))
	default:
		g.ExtendZero(from, to, g.scratch(in.src, h.RAX))
	}
	if to == h.RAX {
		g.give(8, in.dst, to)
	}
	return true
}
