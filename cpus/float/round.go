package float

import "math/bits"

// Rounding is a direction (IEEE 754-2008, 4.3).
type Rounding uint8

// Directions.
const (
	NearestEven Rounding = iota
	Down
	Up
	TowardZero
)

// Flags are exceptions (IEEE 754-2008, 7).
type Flags uint8

// Exceptions. Denormal is beside the standard: an operand was denormal.
const (
	Invalid Flags = 1 << iota
	Denormal
	DivideByZero
	Overflow
	Underflow
	Inexact
)

// Context holds how operations round and answer exceptions, and notes what they raised.
type Context struct {
	Round        Rounding
	FlushInputs  bool // denormal operands are zeros, and raise nothing
	FlushResults bool // tiny results are zeros, where underflow is not delivered
	Deliver      Flags
	// TinyBefore has tininess detected before rounding (IEEE 754-2008, 7.5, leaves the choice).
	TinyBefore bool
	// Propagate chooses among two operands of which one at least is a NaN, and Default is the result of an invalid operation.
	Propagate func(a, b Number) Number
	Default   Number

	Raised Flags
	Away   bool // the last result was rounded away from zero
}

// exact is a significand of 128 bits before it is rounded. The last bit is sticky: it says that bits behind it are not
// all zero.
type exact struct {
	neg    bool
	exp    int // of the first bit, which is set
	hi, lo uint64
}

// normalized shifts a significand up until its first bit is set.
func normalized(neg bool, exp int, hi, lo uint64) exact {
	if hi == 0 {
		hi, lo, exp = lo, 0, exp-64
	}
	n := bits.LeadingZeros64(hi)
	hi, lo = hi<<n|lo>>(64-n), lo<<n // a shift by 64 gives zero
	return exact{neg, exp - n, hi, lo}
}

// rounded cuts x to some bits, which may be none or fewer.
func (x exact) rounded(precision int, r Rounding) (n Number, inexact, away bool) {
	var sig, rest, unit uint64
	more := x.lo
	switch {
	case precision == 64:
		sig, rest, more, unit = x.hi, x.lo, 0, 1
	case precision > 0:
		unit = 1 << (64 - precision)
		sig, rest = x.hi&^(unit-1), x.hi<<precision
	case precision == 0:
		rest = x.hi
	default:
		rest, more = 0, 1
	}
	inexact = rest|more != 0
	switch r {
	case NearestEven:
		away = rest > lead || rest == lead && (more != 0 || sig&unit != 0)
	case Down:
		away = inexact && x.neg
	case Up:
		away = inexact && !x.neg
	}
	n = Number{Kind: Finite, Neg: x.neg, Exp: x.exp, Sig: sig}
	switch {
	case !away && sig == 0:
		n = Number{Neg: x.neg}
	case away && precision <= 0:
		n.Exp, n.Sig = x.exp+1-precision, lead
	case away:
		if n.Sig += unit; n.Sig < unit {
			n.Exp, n.Sig = n.Exp+1, lead
		}
	}
	return n, inexact, away
}

// round gives the number of a format for x, and raises what that takes.
func (c *Context) round(f Format, x exact) Number {
	n, inexact, away := x.rounded(f.Precision, c.Round)
	tiny := n.Exp < f.emin() || c.TinyBefore && x.exp < f.emin()
	switch {
	case tiny && c.Deliver&Underflow != 0:
		c.Raised |= Underflow
		if n.Exp += f.wrap(); n.Exp < f.emin() { // no other exponent is near enough: a scaled number of x87
			n, inexact, away = Number{Neg: x.neg}, inexact || f == Extended, false
		}
	case tiny && c.FlushResults:
		c.Raised |= Underflow | Inexact
		return Number{Neg: x.neg}
	case tiny:
		n, inexact, away = x.rounded(f.Precision+x.exp-f.emin(), c.Round)
		if n.Denormal = true; inexact {
			c.Raised |= Underflow
		}
	case n.Exp > f.emax():
		c.Raised |= Overflow
		if n.Exp -= f.wrap(); c.Deliver&Overflow == 0 {
			return c.overflow(f, x.neg)
		}
		if n.Exp > f.emax() {
			n, inexact, away = infinity(x.neg), inexact || f == Extended, true
		}
	}
	if c.Away = away; inexact {
		c.Raised |= Inexact
	}
	return n
}

// overflow gives an infinity, or the largest number where the direction leads away from infinity.
func (c *Context) overflow(f Format, neg bool) Number {
	c.Raised |= Inexact
	if c.Away = c.Round == NearestEven || c.Round == Down && neg || c.Round == Up && !neg; c.Away {
		return infinity(neg)
	}
	return Number{Kind: Finite, Neg: neg, Exp: f.emax(), Sig: ^uint64(0) << (64 - f.Precision)}
}

// Convert rounds a number to a format.
func (c *Context) Convert(f Format, n Number) Number {
	return c.one(n, func(n Number) Number {
		if n.Kind != Finite {
			return n
		}
		return c.round(f, exact{n.Neg, n.Exp, n.Sig, 0})
	})
}

// FromInt rounds an integer to a format.
func (c *Context) FromInt(f Format, v int64) Number {
	return c.FromWide(f, v < 0, 63, uint64(max(v, -v)), 0) // the least integer is its own negative
}

// Integral rounds a number to an integer, in the direction r.
func (c *Context) Integral(n Number, r Rounding) Number {
	c.Away = false
	if n.Kind != Finite || n.Exp >= 63 {
		return n
	}
	whole, inexact, away := exact{n.Neg, n.Exp, n.Sig, 0}.rounded(n.Exp+1, r)
	if c.Away = away; inexact {
		c.Raised |= Inexact
	}
	return whole
}

// ToInt rounds a number to a signed integer of some bits. One that has no such integer is invalid, and ok is false.
func (c *Context) ToInt(n Number, size int, r Rounding) (v int64, ok bool) {
	n = c.Flushed(n)
	raised := c.Raised
	whole := c.Integral(n, r)
	limit := uint64(1) << (size - 1)
	var m uint64
	switch {
	case whole.Kind == Zero:
	case whole.Kind == Finite && whole.Exp < 64:
		m = whole.Sig >> (63 - whole.Exp)
	default:
		m = ^uint64(0)
	}
	if m > limit || m == limit && !whole.Neg {
		c.Raised, c.Away = raised|Invalid, false
		return 0, false
	}
	if whole.Neg {
		m = -m
	}
	return int64(m), true
}
