package x86

import "math/bits"

// shiftCount is the count modulo 32, or 64 for 64-bit operands (SDM vol. 2, SAL/SAR/SHL/SHR),
// whatever the width below that is: an 8-bit operand can be shifted by 31. Of cl and the immediate
// one is absent and reads as zero, so that their sum needs no choice.
func shiftCount[T width](c *CPU, in *inst) uint {
	n := uint(uint8(c.R[in.src&63]) + uint8(in.imm))
	if bitsOf(T(0)) == 64 {
		return n & 63
	}
	return n & 31
}

// setShift sets the flags of shld and shrd: AF is undefined and cleared.
func setShift[T width](c *CPU, r T, cf, of bool) {
	setLogic(c, r)
	c.setCarry(cf, of)
}

// top is the sign bit.
func top[T width](v T) bool { return v>>(bitsOf(v)-1) != 0 }

// A count of zero changes no flag, so each begins with it. The manual defines OF for a count of one
// only; for others it follows the same rule here.
//
// The carries of shl lie in order: behind CF, the last bit that went out, is the top of the result,
// which is CF xor OF. For shr they are CF and the old top xor CF, for sar CF twice, OF being
// clear.

func shl[T width](c *CPU, v T, n uint) T {
	if n == 0 {
		return v
	}
	c.cy = uint64(v) << (64 - bitsOf(v)) << ((n - 1) & 63)
	setZSP(c, v<<n)
	return v << n
}

func shr[T width](c *CPU, v T, n uint) T {
	if n == 0 {
		return v
	}
	c.cy = uint64(v) >> ((n - 1) & 63) << 63
	c.cy |= (c.cy ^ uint64(v)<<(64-bitsOf(v))) >> 1
	setZSP(c, v>>n)
	return v >> n
}

func sar[T width](c *CPU, v T, n uint) T {
	if n == 0 {
		return v
	}
	s := signed(v)
	c.cy = uint64(s>>((n-1)&63)) << 63
	c.cy |= c.cy >> 1
	setZSP(c, T(s>>n))
	return T(s >> n)
}

// Rotates change CF and OF only (SDM vol. 2, RCL/RCR/ROL/ROR). Behind CF are the top of what rol
// gives and the second bit of what ror gives, whose top is CF.

func rol[T width](c *CPU, v T, n uint) T {
	if n == 0 {
		return v
	}
	w := bitsOf(v)
	n &= w - 1
	r := v<<n | v>>(w-n)
	c.cy = uint64(r)<<63 | uint64(r)<<(64-w)>>1
	return r
}

func ror[T width](c *CPU, v T, n uint) T {
	if n == 0 {
		return v
	}
	w := bitsOf(v)
	n &= w - 1
	r := v>>n | v<<(w-n)
	c.cy = uint64(r) << (64 - w)
	return r
}

// rcl and rcr rotate through CF, which makes a ring of w+1 bits: the count is taken modulo that,
// after the masking of shiftCount. OF is the rule for a count of one.
func rcl[T width](c *CPU, v T, n uint) T {
	w := bitsOf(v)
	n %= w + 1
	if n == 0 {
		return v
	}
	cf := v>>(w-n)&1 != 0
	r := v<<n | T(c.carryBit())<<(n-1)
	if n > 1 {
		r |= v >> (w + 1 - n)
	}
	c.setCarry(cf, top(r) != cf)
	return r
}

func rcr[T width](c *CPU, v T, n uint) T {
	w := bitsOf(v)
	n %= w + 1
	if n == 0 {
		return v
	}
	cf := v>>(n-1)&1 != 0
	r := v>>n | T(c.carryBit())<<(w-n)
	if n > 1 {
		r |= v << (w + 1 - n)
	}
	c.setCarry(cf, top(r) != top(r<<1))
	return r
}

// doubleCount is the count of shld and shrd: the immediate or CL (aux set).
func doubleCount[T width](c *CPU, in *inst) uint {
	n := uint(in.imm)
	if in.aux != 0 {
		n = uint(c.R[rcx])
	}
	if bitsOf(T(0)) == 64 {
		return n & 63
	}
	return n & 31
}

// shld and shrd with a 16-bit operand and a count above 16 are undefined; here they shift in
// zeroes.
func shld[T width](c *CPU, a, b T, n uint) T {
	if n == 0 {
		return a
	}
	w := bitsOf(a)
	r := a<<n | b>>(w-n)
	cf := a>>(w-n)&1 != 0
	setShift(c, r, cf, top(r) != top(a))
	return r
}

func shrd[T width](c *CPU, a, b T, n uint) T {
	if n == 0 {
		return a
	}
	w := bitsOf(a)
	r := a>>n | b<<(w-n)
	setShift(c, r, a>>(n-1)&1 != 0, top(r) != top(a))
	return r
}

func shldR[T width](c *CPU, in *inst) {
	put(c, in.dst, shld(c, get[T](c, in.dst), get[T](c, in.src), doubleCount[T](c, in)))
}

func shrdR[T width](c *CPU, in *inst) {
	put(c, in.dst, shrd(c, get[T](c, in.dst), get[T](c, in.src), doubleCount[T](c, in)))
}

func shldM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if v, ok := rmw[T](c, va); ok {
		store(c, va, shld(c, v, get[T](c, in.src), doubleCount[T](c, in)))
	}
}

func shrdM[T width](c *CPU, in *inst) {
	va := c.ea(in)
	if v, ok := rmw[T](c, va); ok {
		store(c, va, shrd(c, v, get[T](c, in.src), doubleCount[T](c, in)))
	}
}

// Bit tests (SDM vol. 2, BT). CF is the bit; ZF is kept, and the others, which are undefined, stay
// too.

// bitIndex is the number of the bit within its operand.
func bitIndex[T width](c *CPU, in *inst) uint { return uint(src[T](c, in)) & (bitsOf(T(0)) - 1) }

func bt[T width](c *CPU, v T, n uint) T  { c.setCF(v>>n&1 != 0); return v }
func bts[T width](c *CPU, v T, n uint) T { c.setCF(v>>n&1 != 0); return v | 1<<n }
func btr[T width](c *CPU, v T, n uint) T { c.setCF(v>>n&1 != 0); return v &^ (1 << n) }
func btc[T width](c *CPU, v T, n uint) T { c.setCF(v>>n&1 != 0); return v ^ 1<<n }

func btR[T width](c *CPU, in *inst) { bt(c, get[T](c, in.dst), bitIndex[T](c, in)) }

// bitAddress finds the operand of a bit test on memory: with a register index it is a string of
// bits that starts at the address and reaches in both directions. aux says that the address is the operand's own.
func bitAddress[T width](c *CPU, in *inst) uint64 {
	va := c.ea(in)
	if in.src != rZero && in.aux == 0 {
		va += bitOffset[T](c, in)
	}
	return va & c.AddrMask
}

// bitOffset is how far the operand is from where the string of bits begins.
func bitOffset[T width](c *CPU, in *inst) uint64 {
	return uint64(signed(get[T](c, in.src)) &^ (int64(bitsOf(T(0))) - 1) / 8)
}

func btM[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, bitAddress[T](c, in)); ok {
		bt(c, v, bitIndex[T](c, in))
	}
}

// Bit scans: a zero source sets ZF and leaves the destination, as Intel processors do, though the
// manual calls it undefined (SDM vol. 2, BSF). Kernels rely on it.

func bsf[T width](c *CPU, in *inst, v T) {
	setLogic(c, v)
	if v != 0 {
		put(c, in.dst, T(bits.TrailingZeros64(uint64(v))))
	}
}

func bsr[T width](c *CPU, in *inst, v T) {
	setLogic(c, v)
	if v != 0 {
		put(c, in.dst, T(bits.Len64(uint64(v))-1))
	}
}

func bsfR[T width](c *CPU, in *inst) { bsf(c, in, get[T](c, in.src)) }
func bsrR[T width](c *CPU, in *inst) { bsr(c, in, get[T](c, in.src)) }

func bsfL[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, c.ea(in)); ok {
		bsf(c, in, v)
	}
}

func bsrL[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, c.ea(in)); ok {
		bsr(c, in, v)
	}
}

// popcnt clears the flags but for that of zero.
func popcnt[T width](c *CPU, in *inst, v T) {
	n := T(bits.OnesCount64(uint64(v)))
	setLogic(c, n)
	c.par = 1 // odd, whatever n is
	put(c, in.dst, n)
}

func popcntR[T width](c *CPU, in *inst) { popcnt(c, in, get[T](c, in.src)) }

func popcntL[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, c.ea(in)); ok {
		popcnt(c, in, v)
	}
}
