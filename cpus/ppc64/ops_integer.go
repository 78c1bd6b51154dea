package ppc64

import "math/bits"

// Fixed-point arithmetic (Book I, Fixed-Point Arithmetic Instructions). The second operand is a register or
// an immediate: one of the two is zero, so that a sum does for a choice.

func (c *CPU) first(in *inst) uint64  { return c.R[in.a&63] }
func (c *CPU) second(in *inst) uint64 { return c.R[in.b&63] + in.imm }

// record sets field 0 of the condition register by a result.
func (c *CPU) record(v uint64) {
	c.R[rCR0] = order(int64(v<<(c.narrow&63)), 0) | c.summary()
}

// order is the part of a field that says how two numbers compare.
func order[T int64 | uint64](a, b T) uint64 {
	switch {
	case a < b:
		return crLT
	case a > b:
		return crGT
	}
	return crEQ
}

// sum adds and sets the carry of the mode's width. Carries out of every bit are (a AND b) OR ((a OR b) AND
// NOT r).
func (c *CPU) sum(a, b, carry uint64) uint64 {
	r := a + b + carry
	c.R[rCA] = (a&b | (a|b)&^r) << (c.narrow & 63) >> 63
	return r
}

// overflowed notes in OV and SO whether r, the sum of a and b and perhaps a carry, has the wrong sign.
func (c *CPU) overflowed(a, b, r uint64) uint64 {
	c.setOV((a^r)&(b^r)<<(c.narrow&63)>>63 != 0)
	return r
}

func (c *CPU) setOV(ov bool) {
	if ov {
		c.R[rXER] |= xerOV | xerSO
	} else {
		c.R[rXER] &^= xerOV
	}
}

func add(c *CPU, in *inst)   { c.R[in.dst&63] = c.first(in) + c.second(in) }
func subf(c *CPU, in *inst)  { c.R[in.dst&63] = c.second(in) - c.first(in) }
func addc(c *CPU, in *inst)  { c.R[in.dst&63] = c.sum(c.first(in), c.second(in), 0) }
func subfc(c *CPU, in *inst) { c.R[in.dst&63] = c.sum(^c.first(in), c.second(in), 1) }
func adde(c *CPU, in *inst)  { c.R[in.dst&63] = c.sum(c.first(in), c.second(in), c.R[rCA]) }
func subfe(c *CPU, in *inst) { c.R[in.dst&63] = c.sum(^c.first(in), c.second(in), c.R[rCA]) }

// The forms with OE.
func addo(c *CPU, in *inst) {
	a, b := c.first(in), c.second(in)
	c.R[in.dst&63] = c.overflowed(a, b, a+b)
}

func subfo(c *CPU, in *inst) {
	a, b := c.first(in), c.second(in)
	c.R[in.dst&63] = c.overflowed(^a, b, b-a)
}

func addco(c *CPU, in *inst) {
	a, b := c.first(in), c.second(in)
	c.R[in.dst&63] = c.overflowed(a, b, c.sum(a, b, 0))
}

func subfco(c *CPU, in *inst) {
	a, b := ^c.first(in), c.second(in)
	c.R[in.dst&63] = c.overflowed(a, b, c.sum(a, b, 1))
}

func addeo(c *CPU, in *inst) {
	a, b := c.first(in), c.second(in)
	c.R[in.dst&63] = c.overflowed(a, b, c.sum(a, b, c.R[rCA]))
}

func subfeo(c *CPU, in *inst) {
	a, b := ^c.first(in), c.second(in)
	c.R[in.dst&63] = c.overflowed(a, b, c.sum(a, b, c.R[rCA]))
}

// Multiplication. The upper half of the result of the "high word" forms is undefined: it is zero here.
func mulld(c *CPU, in *inst) { c.R[in.dst&63] = c.first(in) * c.second(in) }

func mulldo(c *CPU, in *inst) {
	hi, lo := signedProduct(c.first(in), c.second(in))
	c.setOV(hi != uint64(int64(lo)>>63))
	c.R[in.dst&63] = lo
}

func mullw(c *CPU, in *inst) {
	c.R[in.dst&63] = uint64(int64(int32(c.first(in))) * int64(int32(c.second(in))))
}

func mullwo(c *CPU, in *inst) {
	p := int64(int32(c.first(in))) * int64(int32(c.second(in)))
	c.setOV(p != int64(int32(p)))
	c.R[in.dst&63] = uint64(p)
}

func mulhw(c *CPU, in *inst) {
	p := int64(int32(c.first(in))) * int64(int32(c.second(in)))
	c.R[in.dst&63] = uint64(p) >> 32
}

func mulhwu(c *CPU, in *inst) {
	c.R[in.dst&63] = uint64(uint32(c.first(in))) * uint64(uint32(c.second(in))) >> 32
}

func mulhd(c *CPU, in *inst)  { c.R[in.dst&63], _ = signedProduct(c.first(in), c.second(in)) }
func mulhdu(c *CPU, in *inst) { c.R[in.dst&63], _ = bits.Mul64(c.first(in), c.second(in)) }

// signedProduct is the product of two signed numbers, from that of unsigned ones.
func signedProduct(a, b uint64) (hi, lo uint64) {
	hi, lo = bits.Mul64(a, b)
	hi -= uint64(int64(a)>>63)&b + uint64(int64(b)>>63)&a
	return hi, lo
}

// Division. A quotient that does not exist is undefined: the result is the dividend here, as in qemu. The
// upper half of the quotient of words is undefined too: it is zero.
func (c *CPU) quotientD(in *inst) (q uint64, ok bool) {
	a, b := int64(c.first(in)), int64(c.second(in))
	if b == 0 || a == -1<<63 && b == -1 {
		return uint64(a), false
	}
	return uint64(a / b), true
}

func (c *CPU) quotientDU(in *inst) (q uint64, ok bool) {
	a, b := c.first(in), c.second(in)
	if b == 0 {
		return a, false
	}
	return a / b, true
}

func (c *CPU) quotientW(in *inst) (q uint64, ok bool) {
	a, b := int32(c.first(in)), int32(c.second(in))
	if b == 0 || a == -1<<31 && b == -1 {
		return uint64(uint32(a)), false
	}
	return uint64(uint32(a / b)), true
}

func (c *CPU) quotientWU(in *inst) (q uint64, ok bool) {
	a, b := uint32(c.first(in)), uint32(c.second(in))
	if b == 0 {
		return uint64(a), false
	}
	return uint64(a / b), true
}

func divd(c *CPU, in *inst)  { c.R[in.dst&63], _ = c.quotientD(in) }
func divdu(c *CPU, in *inst) { c.R[in.dst&63], _ = c.quotientDU(in) }
func divw(c *CPU, in *inst)  { c.R[in.dst&63], _ = c.quotientW(in) }
func divwu(c *CPU, in *inst) { c.R[in.dst&63], _ = c.quotientWU(in) }

// dividing is a division with OE.
func dividing(f func(*CPU, *inst) (uint64, bool)) exec {
	return func(c *CPU, in *inst) {
		q, ok := f(c, in)
		c.setOV(!ok)
		c.R[in.dst&63] = q
	}
}

// Comparison (Book I, Fixed-Point Compare Instructions).
func cmpd(c *CPU, in *inst) {
	c.R[in.dst&63] = order(int64(c.first(in)), int64(c.second(in))) | c.summary()
}

func cmpw(c *CPU, in *inst) {
	c.R[in.dst&63] = order(int64(int32(c.first(in))), int64(int32(c.second(in)))) | c.summary()
}

func cmpld(c *CPU, in *inst) {
	c.R[in.dst&63] = order(c.first(in), c.second(in)) | c.summary()
}

func cmplw(c *CPU, in *inst) {
	c.R[in.dst&63] = order(uint64(uint32(c.first(in))), uint64(uint32(c.second(in)))) | c.summary()
}
