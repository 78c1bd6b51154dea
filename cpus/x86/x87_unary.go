package x86

import "kprobesim/cpus/float"

// onTop makes an instruction of an operation on the top of the stack.
func onTop(op func(x *float.Context, f float.Format, a float.Number) float.Number) func(*CPU) {
	return func(c *CPU) {
		c.fpu.compute(func(x *float.Context, f float.Format, a, _ float.Number) float.Number { return op(x, f, a) }, 0, float.Number{}, true)
	}
}

// withSecond makes one of an operation on the top and the register below it.
func withSecond(op operation) func(*CPU) {
	return func(c *CPU) { c.fpu.compute(op, 0, c.fpu.get(1), c.fpu.filled(1)) }
}

// constant makes an instruction that pushes a number of 128 bits, rounded.
func constant(exp int, hi, lo uint64) func(*CPU) {
	return func(c *CPU) {
		x := c.fpu.context()
		c.fpu.push(packed(x.FromWide(float.Extended, false, exp, hi, lo)))
	}
}

// onSign makes an instruction that changes the sign bit of the top, whatever the number is.
func onSign(change func(head uint64) uint64) func(*CPU) {
	return func(c *CPU) {
		f := &c.fpu
		if f.status &^= fswC1; !f.filled(0) {
			if f.stackFault(false) {
				f.setRaw(0, indefinite)
			}
			return
		}
		f.st[0][1] = change(f.st[0][1])
	}
}

// classes of fxam: C3, C2 and C0 (SDM vol. 2, FXAM, table 3-37). Unsupported numbers have none of them.
var examined = [...]uint16{
	float.Zero: fswC3, float.Finite: fswC2, float.Infinite: fswC2 | fswC0, float.Quiet: fswC0, float.Signalling: fswC0, float.Unsupported: 0,
}

func fxam(c *CPU) {
	f := &c.fpu
	n := f.get(0)
	class := examined[n.Kind]
	switch {
	case !f.filled(0):
		class = fswC3 | fswC0
	case n.Denormal:
		class = fswC3 | fswC2
	}
	if f.status = f.status&^(fswOrder|fswC1) | class; f.st[0][1]>>15 != 0 {
		f.status |= fswC1
	}
}

func ftst(c *CPU) {
	flags, _ := c.fpu.compare(float.Number{}, true, true)
	c.fpu.setOrder(flags)
}

// turn makes fincstp and fdecstp, which leave the tags alone.
func turn(up bool) func(*CPU) {
	return func(c *CPU) {
		c.fpu.status &^= fswC1
		c.fpu.rotate(up)
	}
}

func fxtract(c *CPU) {
	f := &c.fpu
	full := f.filled(7)
	if !f.filled(0) || full {
		if f.stackFault(f.filled(0)) {
			f.setRaw(0, indefinite)
			f.rotate(false)
			f.setRaw(0, indefinite)
		}
		return
	}
	x := f.context()
	exponent, significand := x.Extract(f.get(0))
	if f.raised(&x) {
		f.set(0, exponent)
		f.rotate(false)
		f.set(0, significand)
	}
}

// remainderOf makes fprem and fprem1: the quotient's lowest bits go to C0, C3 and C1, and C2 says that more is to be done
// (SDM vol. 2, FPREM). A step takes 32 to 63 bits off the difference of the exponents, as many as leave a multiple of 32.
func remainderOf(nearest bool) func(*CPU) {
	return func(c *CPU) {
		f := &c.fpu
		var q uint64
		var partial bool
		empty := !f.filled(0) || !f.filled(1)
		f.status &^= fswC2
		ok := f.compute(func(x *float.Context, to float.Format, a, b float.Number) (r float.Number) {
			r, q, partial = x.Remainder(float.Extended, a, b, nearest, func(d int) int { return d&31 | 32 })
			return r
		}, 0, f.get(1), f.filled(1))
		if !ok || empty || f.get(0).NaN() {
			return
		}
		f.status = f.status&^(fswOrder|fswC1) | uint16(q>>2&1*fswC0) | uint16(q>>1&1*fswC3) | uint16(q&1*fswC1)
		if partial {
			f.status |= fswC2
		}
	}
}

// ofAngle makes an instruction of functions of an angle. The last one replaces it, and one before it is pushed. An angle that is too large
// stays, and C2 says so (SDM vol. 1, 8.3.8).
func ofAngle(ops ...func(x *float.Context, f float.Format, a float.Number) float.Number) func(*CPU) {
	return func(c *CPU) {
		f := &c.fpu
		f.status &^= fswC1 | fswC2
		more := len(ops) > 1
		switch filled := f.filled(0); {
		case !filled || more && f.filled(7):
			if f.stackFault(filled) {
				f.setRaw(0, indefinite)
				if more {
					f.rotate(false)
					f.setRaw(0, indefinite)
				}
			}
			return
		case !f.get(0).Reduces():
			f.status |= fswC2
			return
		}
		x := f.context()
		a := f.get(0)
		var r [2]float.Number
		for i, op := range ops {
			r[len(ops)-1-i] = op(&x, float.Extended, a)
		}
		if f.raised(&x) { // C1 is of the last one
			f.set(0, r[0])
			if more {
				f.rotate(false)
				f.set(0, r[1])
			}
		}
	}
}

// intoSecond makes an instruction of an operation on the second register and the top, which is popped.
func intoSecond(op operation) func(*CPU) {
	return func(c *CPU) {
		if c.fpu.compute(func(x *float.Context, _ float.Format, a, b float.Number) float.Number {
			return op(x, float.Extended, a, b)
		}, 1, c.fpu.get(0), c.fpu.filled(0)) {
			c.fpu.pop(1)
		}
	}
}
