package float

import "math/bits"

// FromWide rounds a significand of 128 bits, whose first bit weighs 2^exp, to a format. The last bit may be sticky.
func (c *Context) FromWide(f Format, neg bool, exp int, hi, lo uint64) Number {
	if hi|lo == 0 {
		return Number{Neg: neg}
	}
	return c.round(f, normalized(neg, exp, hi, lo))
}

// Rint rounds a number to an integer in its own format.
func (c *Context) Rint(n Number) Number {
	return c.one(n, func(n Number) Number { return c.Integral(n, c.Round) })
}

// Scale multiplies a by a power of two, whose exponent is b cut off to an integer.
func (c *Context) Scale(f Format, a, b Number) Number {
	return c.two(a, b, func(a, b Number) Number {
		switch {
		case b.Kind == Infinite && (a.Kind == Infinite && b.Neg || a.Kind == Zero && !b.Neg):
			return c.invalid()
		case a.Kind != Finite:
			return a
		case b.Kind == Infinite && b.Neg:
			return Number{Neg: a.Neg}
		case b.Kind == Infinite:
			return infinity(a.Neg)
		}
		by := 0
		if b.Kind == Finite && b.Exp >= 0 {
			by = 1 << 17 // beyond every exponent
			if b.Exp < 17 {
				by = int(b.Sig >> (63 - b.Exp))
			}
		}
		if b.Neg {
			by = -by
		}
		return c.round(f, exact{a.Neg, a.Exp + by, a.Sig, 0})
	})
}

// Extract splits a number into its exponent and its significand.
func (c *Context) Extract(n Number) (exponent, significand Number) {
	significand = c.one(n, func(n Number) Number {
		if n.Kind == Zero {
			c.Raised |= DivideByZero
		}
		return n
	})
	switch exponent = significand; significand.Kind {
	case Zero:
		return infinity(true), significand
	case Infinite:
		exponent.Neg = false
	case Finite:
		scratch := *c
		exponent = scratch.FromInt(Extended, int64(n.Exp))
		significand.Exp, significand.Denormal = 0, false
	}
	return exponent, significand
}

// Remainder gives a - q·b, where q is a/b cut off to an integer, or the nearest one. The result has the sign of a, or the other
// one behind a quotient that was rounded away. When the exponents differ by 64 or more only a part of the work is done: the
// quotient is cut off at a power of two that leaves reduce of the difference, and partial is set.
func (c *Context) Remainder(f Format, a, b Number, nearest bool, reduce func(difference int) int) (r Number, q uint64, partial bool) {
	r = c.two(a, b, func(a, b Number) Number {
		switch {
		case a.Kind == Infinite || b.Kind == Zero:
			return c.invalid()
		case a.Kind == Zero || b.Kind == Infinite:
			return a
		}
		d := a.Exp - b.Exp
		keep := 0
		if partial = d >= 64; partial {
			keep = d - reduce(d)
		}
		var rest exact
		if rest, q = remainder(a, b, keep); nearest && !partial {
			rest, q = closer(rest, q, b)
		}
		if partial {
			q = 0
		}
		return c.FromWide(f, rest.neg, rest.exp, rest.hi, 0)
	})
	return r, q, partial
}

// remainder divides by b·2^shift. The rest's first bit need not be set.
func remainder(a, b Number, shift int) (rest exact, q uint64) {
	rest = exact{neg: a.Neg, exp: a.Exp, hi: a.Sig}
	d := a.Exp - b.Exp - shift
	if d < 0 {
		return rest, 0
	}
	var carry uint64
	for i := d; ; i-- {
		q <<= 1
		if carry != 0 || rest.hi >= b.Sig {
			rest.hi -= b.Sig
			q |= 1
		}
		if i == 0 {
			break
		}
		carry, rest.hi = rest.hi>>63, rest.hi<<1
	}
	rest.exp = b.Exp + shift
	return rest, q
}

// closer takes one divisor more off where that leaves less, or the same and makes the quotient even.
func closer(rest exact, q uint64, b Number) (exact, uint64) {
	below := b.Exp - rest.exp
	if below > 1 {
		return rest, q // less than a half
	}
	hi, lo := rest.hi>>below, rest.hi<<(64-below) // a shift by 64 gives zero
	l, borrow := bits.Sub64(0, lo, 0)
	h, _ := bits.Sub64(b.Sig, hi, borrow)
	more := h < hi || h == hi && (l < lo || l == lo && q&1 != 0)
	if !more {
		return rest, q
	}
	n := normalized(!rest.neg, b.Exp, h, l)
	return n, q + 1
}
