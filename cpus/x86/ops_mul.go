package x86

import "math/bits"

// Multiplication sets CF and OF when the upper half is significant (SDM vol. 2, IMUL and MUL); SF,
// ZF, AF and PF are undefined and follow the low half here. Division leaves all flags undefined:
// they stay as they are.

// imul is the product of the forms with two and three operands, cut off to the operand size. OF
// says that something was lost.
func imul[T width](c *CPU, a, b T) T {
	hi, lo := mulSigned(signed(a), signed(b))
	r := T(lo)
	over := signed(r) != int64(lo) || hi != uint64(int64(lo)>>63)
	setLogic(c, r)
	c.setCarry(over, over)
	return r
}

// mulSigned returns the 128-bit product of two signed numbers. A negative factor, taken as
// unsigned, is too large by 2^64, and so is the upper half by the other factor.
func mulSigned(a, b int64) (hi, lo uint64) {
	hi, lo = bits.Mul64(uint64(a), uint64(b))
	if a < 0 {
		hi -= uint64(b)
	}
	if b < 0 {
		hi -= uint64(a)
	}
	return hi, lo
}

// Three operands: the second factor is the immediate, which the decoder has extended by its sign.

func imul3R[T width](c *CPU, in *inst) {
	put(c, in.dst, imul(c, get[T](c, in.src), T(in.imm)))
}

func imul3L[T width](c *CPU, in *inst) {
	if b, ok := load[T](c, c.ea(in)); ok {
		put(c, in.dst, imul(c, b, T(in.imm)))
	}
}

// putWide writes a double-width result: ax for bytes, dx:ax and its wider kin otherwise.
func putWide[T width](c *CPU, hi, lo T) {
	if bitsOf(lo) == 8 {
		put(c, rax, uint16(hi)<<8|uint16(lo))
		return
	}
	put(c, rax, lo)
	put(c, rdx, hi)
}

// mulBy and imulBy are the forms with one operand, whose product has double width. Products of up
// to 32 bits fit into the lower word of the 128-bit one, whose upper half is then in place w.
func mulBy[T width](c *CPU, b T) {
	hi, lo := bits.Mul64(uint64(get[T](c, rax)), uint64(b))
	_, up := putProduct[T](c, hi, lo)
	c.setCarry(up != 0, up != 0)
}

func imulBy[T width](c *CPU, b T) {
	hi, lo := mulSigned(signed(get[T](c, rax)), signed(b))
	r, up := putProduct[T](c, hi, lo)
	over := signed(up) != signed(r)>>63
	c.setCarry(over, over)
}

// putProduct writes a product of 128 bits and the flags of its lower half, and returns both halves in the width.
func putProduct[T width](c *CPU, hi, lo uint64) (r, up T) {
	r, up = T(lo), T(hi)
	if w := bitsOf(r); w < 64 {
		up = T(lo >> w)
	}
	putWide(c, up, r)
	setLogic(c, r)
	return r, up
}

// getWide reads the double-width dividend: ax for bytes, dx:ax and its wider kin otherwise.
func getWide[T width](c *CPU) (hi, lo T) {
	if bitsOf(lo) == 8 {
		return T(c.R[rax] >> 8), T(c.R[rax])
	}
	return get[T](c, rdx), get[T](c, rax)
}

// putQuotient writes quotient and remainder, for bytes to al and ah.
func putQuotient[T width](c *CPU, q, rem T) {
	if bitsOf(q) == 8 {
		put(c, rax, uint16(rem)<<8|uint16(q))
		return
	}
	put(c, rax, q)
	put(c, rdx, rem)
}

// divBy divides the accumulator pair by d. A quotient that does not fit is the same exception as a
// division by zero, #DE, a fault that changes nothing (SDM vol. 2, DIV).
func divBy[T width](c *CPU, d T) {
	hi, lo := getWide[T](c)
	if d == 0 || hi >= d {
		c.raise(vecDE)
		return
	}
	w := bitsOf(d)
	if w == 64 {
		q, r := bits.Div64(uint64(hi), uint64(lo), uint64(d))
		putQuotient(c, T(q), T(r))
		return
	}
	n := uint64(hi)<<w | uint64(lo)
	putQuotient(c, T(n/uint64(d)), T(n%uint64(d)))
}

// idivBy is divBy for signed numbers. The quotient is truncated towards zero and the remainder has
// the sign of the dividend (SDM vol. 2, IDIV).
func idivBy[T width](c *CPU, d T) {
	hi, lo := getWide[T](c)
	w := bitsOf(d)
	nhi, nlo := uint64(signed(hi)), uint64(lo)
	if w < 64 {
		n := int64(uint64(signed(hi))<<w | uint64(lo))
		nhi, nlo = uint64(n>>63), uint64(n)
	}
	q, r, ok := divSigned(nhi, nlo, signed(d))
	if !ok || signed(T(q)) != q {
		c.raise(vecDE)
		return
	}
	putQuotient(c, T(q), T(r))
}

// divSigned divides a 128-bit number, truncating towards zero; false when the quotient does not
// fit.
func divSigned(hi, lo uint64, d int64) (q, r int64, ok bool) {
	// the magnitudes are divided, and the signs put back
	neg := int64(hi) < 0
	if neg {
		var carry uint64
		lo, carry = bits.Add64(^lo, 1, 0)
		hi = ^hi + carry
	}
	ud := uint64(d)
	if d < 0 {
		ud = -ud
	}
	if ud == 0 || hi >= ud {
		return 0, 0, false
	}
	uq, ur := bits.Div64(hi, lo, ud)
	minus := neg != (d < 0)
	// 2^63 fits with a minus only
	if uq > 1<<63 || uq == 1<<63 && !minus {
		return 0, 0, false
	}
	q, r = int64(uq), int64(ur)
	if minus {
		q = -q
	}
	if neg {
		r = -r
	}
	return q, r, true
}
