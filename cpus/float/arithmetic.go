package float

import (
	"cmp"
	"math/bits"
)

// Flushed makes a zero of a denormal operand where that is asked for.
func (c *Context) Flushed(n Number) Number {
	if c.FlushInputs && n.Denormal {
		return Number{Neg: n.Neg}
	}
	return n
}

// invalid is the answer to an operation without a result.
func (c *Context) invalid() Number {
	c.Raised |= Invalid
	return c.Default
}

// denormals raises the exception of an operand.
func (c *Context) denormals(ops ...Number) {
	for _, n := range ops {
		if n.Denormal {
			c.Raised |= Denormal
		}
	}
}

// one applies f to an operand that is no NaN.
func (c *Context) one(a Number, f func(a Number) Number) Number {
	return c.two(a, a, func(a, _ Number) Number { return f(a) })
}

// two applies f to operands that are no NaN. A denormal operand is noted where the operation is valid.
func (c *Context) two(a, b Number, f func(a, b Number) Number) Number {
	c.Away = false
	a, b = c.Flushed(a), c.Flushed(b)
	switch {
	case a.Kind == Unsupported || b.Kind == Unsupported:
		return c.invalid()
	case a.NaN() || b.NaN():
		if a.Kind == Signalling || b.Kind == Signalling {
			c.Raised |= Invalid
		}
		return c.Propagate(a, b).Quieted()
	}
	before := c.Raised
	c.Raised = 0
	r := f(a, b)
	if c.Raised&(Invalid|DivideByZero) == 0 {
		c.denormals(a, b)
	}
	c.Raised |= before
	return r
}

// Add gives a+b.
func (c *Context) Add(f Format, a, b Number) Number {
	return c.two(a, b, func(a, b Number) Number { return c.sum(f, a, b) })
}

// Sub gives a-b.
func (c *Context) Sub(f Format, a, b Number) Number {
	return c.two(a, b, func(a, b Number) Number { return c.sum(f, a, b.negate()) })
}

func (c *Context) sum(f Format, a, b Number) Number {
	switch {
	case a.Kind == Infinite && b.Kind == Infinite && a.Neg != b.Neg:
		return c.invalid()
	case a.Kind == Infinite:
		return a
	case b.Kind == Infinite:
		return b
	case a.Kind == Zero && b.Kind == Zero:
		return Number{Neg: c.zeroSign(a.Neg, b.Neg)}
	case a.Kind == Zero:
		a, b = b, a
	}
	if b.Kind == Finite && (b.Exp > a.Exp || b.Exp == a.Exp && b.Sig > a.Sig) {
		a, b = b, a
	}
	return c.aligned(f, a, b)
}

// zeroSign is the sign of a sum that is zero (IEEE 754-2008, 6.3).
func (c *Context) zeroSign(a, b bool) bool {
	if a == b {
		return a
	}
	return c.Round == Down
}

// aligned adds b, which is not larger and may be zero, to a.
func (c *Context) aligned(f Format, a, b Number) Number {
	var hi, lo uint64
	if b.Kind == Finite {
		hi, lo = shiftDown(b.Sig, 0, a.Exp-b.Exp)
	}
	if a.Neg != b.Neg {
		l, borrow := bits.Sub64(0, lo, 0)
		h, _ := bits.Sub64(a.Sig, hi, borrow)
		if h|l == 0 {
			return Number{Neg: c.Round == Down}
		}
		return c.round(f, normalized(a.Neg, a.Exp, h, l))
	}
	h, carry := bits.Add64(a.Sig, hi, 0)
	if carry == 0 {
		return c.round(f, exact{a.Neg, a.Exp, h, lo})
	}
	return c.round(f, exact{a.Neg, a.Exp + 1, h>>1 | lead, h<<63 | lo>>1 | lo&1})
}

// shiftDown shifts a significand, and keeps in its last bit that others were lost.
func shiftDown(hi, lo uint64, by int) (h, l uint64) {
	var lost uint64
	for by = min(by, 128); by >= 64; by -= 64 {
		lost |= lo
		hi, lo = 0, hi
	}
	return hi >> by, lo>>by | hi<<(64-by) | sticky(lost|lo<<(64-by))
}

func sticky(lost uint64) uint64 {
	if lost != 0 {
		return 1
	}
	return 0
}

// Mul gives a·b.
func (c *Context) Mul(f Format, a, b Number) Number {
	return c.two(a, b, func(a, b Number) Number {
		neg := a.Neg != b.Neg
		switch {
		case a.Kind == Infinite && b.Kind == Zero, a.Kind == Zero && b.Kind == Infinite:
			return c.invalid()
		case a.Kind == Infinite || b.Kind == Infinite:
			return infinity(neg)
		case a.Kind == Zero || b.Kind == Zero:
			return Number{Neg: neg}
		}
		hi, lo := bits.Mul64(a.Sig, b.Sig)
		return c.round(f, normalized(neg, a.Exp+b.Exp+1, hi, lo))
	})
}

// Div gives a/b.
func (c *Context) Div(f Format, a, b Number) Number {
	return c.two(a, b, func(a, b Number) Number {
		neg := a.Neg != b.Neg
		switch {
		case a.Kind == b.Kind && a.Kind != Finite:
			return c.invalid()
		case a.Kind == Infinite:
			return infinity(neg)
		case a.Kind == Zero || b.Kind == Infinite:
			return Number{Neg: neg}
		case b.Kind == Zero:
			c.Raised |= DivideByZero
			return infinity(neg)
		}
		return c.round(f, quotient(neg, a, b))
	})
}

// quotient divides significands to 128 bits.
func quotient(neg bool, a, b Number) exact {
	exp, hi, lo := a.Exp-b.Exp-1, a.Sig, uint64(0)
	if hi >= b.Sig {
		exp, hi, lo = exp+1, hi>>1, hi<<63
	}
	q, rest := bits.Div64(hi, lo, b.Sig)
	more, rest := bits.Div64(rest, 0, b.Sig)
	return exact{neg, exp, q, more | sticky(rest)}
}

// Sqrt gives the square root.
func (c *Context) Sqrt(f Format, a Number) Number {
	return c.one(a, func(a Number) Number {
		switch {
		case a.Kind == Zero:
			return a
		case a.Neg:
			return c.invalid()
		case a.Kind == Infinite:
			return a
		}
		return c.round(f, root(a))
	})
}

// root takes the root of a significand of 128 bits. Of what is left, the half of a unit and whether anything is left are
// enough: a root of an integer never ends at a half.
func root(a Number) exact {
	hi, lo, exp := a.Sig, uint64(0), a.Exp
	if exp&1 == 0 {
		hi, lo = hi>>1, hi<<63
	}
	var r uint64
	for bit := uint64(lead); bit != 0; bit >>= 1 {
		h, l := bits.Mul64(r|bit, r|bit)
		if h < hi || h == hi && l <= lo {
			r |= bit
		}
	}
	h, l := bits.Mul64(r, r)
	l, borrow := bits.Sub64(lo, l, 0)
	h, _ = bits.Sub64(hi, h, borrow)
	rest := sticky(h | l)
	if h != 0 || l > r {
		rest |= lead
	}
	return exact{false, exp >> 1, r, rest}
}

// Order is the result of a comparison.
type Order uint8

// Orders.
const (
	Less Order = iota
	Equal
	Greater
	Unordered
)

// Compare compares two numbers. A quiet NaN is invalid where the comparison signals.
func (c *Context) Compare(a, b Number, signals bool) Order {
	a, b = c.Flushed(a), c.Flushed(b)
	c.Away = false
	if a.Kind >= Quiet || b.Kind >= Quiet {
		if signals || a.Kind > Quiet || b.Kind > Quiet {
			c.Raised |= Invalid
		}
		return Unordered
	}
	c.denormals(a, b)
	switch order := magnitudes(a, b); {
	case a.Kind == Zero && b.Kind == Zero:
		return Equal
	case a.Neg != b.Neg:
		return pick(a.Neg, Less, Greater)
	case a.Neg:
		return Greater - order
	default:
		return order
	}
}

// magnitudes compares without signs. Only finite numbers have an exponent and a significand.
func magnitudes(a, b Number) Order {
	return Equal + Order(cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Exp, b.Exp), cmp.Compare(a.Sig, b.Sig)))
}

func pick(first bool, a, b Order) Order {
	if first {
		return a
	}
	return b
}
