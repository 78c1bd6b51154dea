package x86

import "math/bits"

// Moves change no flag. They have the forms of arithmetic: R, L and M (ops_alu.go).
func movR[T width](c *CPU, in *inst) { put(c, in.dst, src[T](c, in)) }

func movL[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, v)
	}
}

func movM[T width](c *CPU, in *inst) { store(c, c.ea(in), src[T](c, in)) }

// movFromAbs and movToAbs take the address from the instruction, 64 bits of it: the only form with
// an address of that length, in 64-bit mode (SDM vol. 2, MOV). In 32-bit mode the same opcodes are
// mov.

func movFromAbs[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, (in.imm+c.segBase[in.seg&7])&c.AddrMask); ok {
		put(c, rax, v)
	}
}

func movToAbs[T width](c *CPU, in *inst) {
	store(c, (in.imm+c.segBase[in.seg&7])&c.AddrMask, get[T](c, rax))
}

// leaR is lea. The segment has no part in it.
func leaR[T width](c *CPU, in *inst) {
	put(c, in.dst, T(c.R[in.base&63]+c.R[in.index&63]<<(in.shift&63)+uint64(int64(in.disp))))
}

// Extension from S to D, by zeroes or by the sign. Equal sizes occur: movsxd without REX.W, and
// movzx and movsx of 16 bits with the prefix 66, move as they are.

func zeroR[D, S width](c *CPU, in *inst) { put(c, in.dst, D(get[S](c, in.src))) }
func signR[D, S width](c *CPU, in *inst) { put(c, in.dst, D(signed(get[S](c, in.src)))) }

func zeroL[D, S width](c *CPU, in *inst) {
	if v, ok := load[S](c, c.ea(in)); ok {
		put(c, in.dst, D(v))
	}
}

func signL[D, S width](c *CPU, in *inst) {
	if v, ok := load[S](c, c.ea(in)); ok {
		put(c, in.dst, D(signed(v)))
	}
}

// Kinds of extension, as a row's aux says them.
const (
	extendZero = iota
	extendSign
)

// extension has the functions for a register and for memory as the source, by the kind.
type extension [2]struct{ reg, load exec }

func extensionOf[D, S width]() extension {
	return extension{{zeroR[D, S], zeroL[D, S]}, {signR[D, S], signL[D, S]}}
}

// extensions has them by the sizes of destination and source.
var extensions = [4][4]extension{
	size16: {size8: extensionOf[uint16, uint8](), size16: extensionOf[uint16, uint16]()},
	size32: {size8: extensionOf[uint32, uint8](), size16: extensionOf[uint32, uint16](), size32: extensionOf[uint32, uint32]()},
	size64: {size8: extensionOf[uint64, uint8](), size16: extensionOf[uint64, uint16](), size32: extensionOf[uint64, uint32]()},
}

// Conversions of the accumulator: cbw, cwde, cdqe and cwd, cdq, cqo.

func cbw(c *CPU, _ *inst)  { put(c, rax, uint16(int16(int8(c.R[rax])))) }
func cwde(c *CPU, _ *inst) { put(c, rax, uint32(int32(int16(c.R[rax])))) }
func cdqe(c *CPU, _ *inst) { put(c, rax, uint64(int64(int32(c.R[rax])))) }
func cwd(c *CPU, _ *inst)  { put(c, rdx, uint16(int16(c.R[rax])>>15)) }
func cdq(c *CPU, _ *inst)  { put(c, rdx, uint32(int32(c.R[rax])>>31)) }
func cqo(c *CPU, _ *inst)  { put(c, rdx, uint64(int64(c.R[rax])>>63)) }

// Exchanges. With an operand in memory they read it with the right to write checked (rmw), so that
// the store cannot fault when registers or flags have changed. Whether the line is locked is the
// engine's to arrange: an instruction is the unit of what other CPUs see.
func xchgR[T width](c *CPU, in *inst) {
	a, b := get[T](c, in.dst), get[T](c, in.src)
	put(c, in.dst, b)
	put(c, in.src, a)
}

func xchgM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok && store(c, va, get[T](c, in.src)) {
		put(c, in.src, a)
	}
}

// xaddR writes the sum last: with the same register twice the sum stays (SDM vol. 2, XADD).
func xaddR[T width](c *CPU, in *inst) {
	a, b := get[T](c, in.dst), get[T](c, in.src)
	r := add(c, a, b)
	put(c, in.src, a)
	put(c, in.dst, r)
}

func xaddM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if a, ok := rmw[T](c, va); ok {
		b := get[T](c, in.src)
		put(c, in.src, a)
		store(c, va, add(c, a, b))
	}
}

// cmpxchgR compares with the accumulator; the flags come from the comparison.
func cmpxchgR[T width](c *CPU, in *inst) {
	old := get[T](c, in.dst)
	if sub(c, get[T](c, rax), old); c.zf() {
		put(c, in.dst, get[T](c, in.src))
		return
	}
	put(c, rax, old)
}

// cmpxchgM writes in both cases, as hardware does.
func cmpxchgM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	old, ok := rmw[T](c, va)
	if !ok {
		return
	}
	if sub(c, get[T](c, rax), old); c.zf() {
		store(c, va, get[T](c, in.src))
		return
	}
	store(c, va, old)
	put(c, rax, old)
}

// cmpxchgWide is cmpxchg8b (T = uint32) and cmpxchg16b (T = uint64), on halves of rdx:rax and
// rcx:rbx. Only ZF changes. The 16-byte form wants its operand aligned (SDM vol. 2, CMPXCHG16B).
func cmpxchgWide[T width](c *CPU, in *inst) {
	va := c.ea(in)
	n := uint64(bitsOf(T(0)) / 8)
	if n == 8 && va&15 != 0 {
		c.raiseCode(vecGP, 0)
		return
	}
	lo, ok := rmw[T](c, va)
	if !ok {
		return
	}
	hi, ok := rmw[T](c, va+n)
	if !ok {
		return
	}
	f := c.flags() &^ flagZF
	if lo == get[T](c, rax) && hi == get[T](c, rdx) {
		f |= flagZF
		lo, hi = get[T](c, rbx), get[T](c, rcx)
	} else {
		put(c, rax, lo)
		put(c, rdx, hi)
	}
	if store(c, va, lo) && store(c, va+n, hi) {
		c.setArith(f)
	}
}

// bswap16 clears its operand, as processors do: what it gives is undefined (SDM vol. 2, BSWAP).
func bswap16(c *CPU, in *inst) { put(c, in.dst, uint16(0)) }
func bswap32(c *CPU, in *inst) { put(c, in.dst, bits.ReverseBytes32(uint32(c.R[in.dst&63]))) }
func bswap64(c *CPU, in *inst) { put(c, in.dst, bits.ReverseBytes64(c.R[in.dst&63])) }

// Conditional moves read their source always; 32-bit forms clear the upper half always.

func cmovR[T width](c *CPU, in *inst) {
	v := get[T](c, in.dst)
	if c.condition(in.aux) {
		v = get[T](c, in.src)
	}
	put(c, in.dst, v)
}

func cmovL[T width](c *CPU, in *inst) {
	v, ok := load[T](c, c.ea(in))
	if !ok {
		return
	}
	if !c.condition(in.aux) {
		v = get[T](c, in.dst)
	}
	put(c, in.dst, v)
}

// bit is a condition as a byte.
func (c *CPU) bit(cond uint8) uint8 {
	if c.condition(cond) {
		return 1
	}
	return 0
}

func setccR(c *CPU, in *inst) { put(c, in.dst, c.bit(in.aux)) }
func setccM(c *CPU, in *inst) { store(c, c.ea(in), c.bit(in.aux)) }

// condition evaluates a condition code (SDM vol. 1, appendix B): the three upper bits choose a
// test, the lowest inverts it.
func (c *CPU) condition(cond uint8) bool {
	var v bool
	switch cond &^ 1 {
	case condO:
		v = c.of()
	case condB:
		v = c.cf()
	case condE:
		v = c.zf()
	case condBE:
		v = c.cf() || c.zf()
	case condS:
		v = c.sf()
	case condP:
		v = c.pf()
	case condL:
		v = c.sf() != c.of()
	default:
		v = c.zf() || c.sf() != c.of()
	}
	return v != (cond&1 != 0)
}
