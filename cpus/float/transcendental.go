package float

import (
	"encoding/binary"
	"math/big"
)

// The functions here are computed to 192 bits and rounded once, so they are never a unit of the extended format off. Of finite
// numbers that are no special case their values are irrational, and therefore never exact (Lindemann, Gelfond-Schneider).

// work is the precision of all steps, in bits.
const work = 192

// tiny is the exponent below which a function is its first term, less or more a part that no format has bits for.
const tiny = -66

// The numbers π and ln 2, and half of the π by which x87 reduces angles, which has 66 bits (SDM vol. 1, 8.3.8).
const (
	pi          = "0x3.243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89p0"
	ln2         = "0x0.b17217f7d1cf79abc9e3b39803f2f6af40f343267298b62d8a0d175b8baafa2bp0"
	halfAnglePi = "0xc.90fdaa22168c234cp-3"
)

func number() *big.Float { return new(big.Float).SetPrec(work) }

func literal(s string) *big.Float {
	v, _ := number().SetString(s) // it is one of ours
	return v
}

func integer(i int64) *big.Float { return number().SetInt64(i) }

// value is a finite number.
func (n Number) value() *big.Float {
	v := number().SetUint64(n.Sig)
	v.SetMantExp(v, n.Exp-63)
	if n.Neg {
		v.Neg(v)
	}
	return v
}

// irrational rounds a value that no number is.
func (c *Context) irrational(f Format, v *big.Float) Number {
	m := number()
	exp := v.MantExp(m)
	i, _ := m.SetMantExp(m.Abs(m), 128).Int(nil)
	var b [16]byte
	i.FillBytes(b[:])
	return c.round(f, exact{v.Signbit(), exp - 1, binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]) | 1})
}

// nudged is a value and a little: towards zero, or away from it.
func nudged(v *big.Float, away bool) *big.Float {
	little := number().SetMantExp(v, -140)
	if away {
		return v.Add(v, little)
	}
	return v.Sub(v, little)
}

// series adds terms up until they do not matter. Each is the one before times step over d(i), and is divided by e(i) when it is
// added.
func series(first, step *big.Float, d, e func(i int64) int64) *big.Float {
	sum, power := number().Set(first), number().Set(first)
	for i := int64(1); ; i++ {
		power.Mul(power, step)
		if n := d(i); n != 1 {
			power.Quo(power, integer(n))
		}
		if power.Sign() == 0 || power.MantExp(nil) < sum.MantExp(nil)-work {
			return sum
		}
		term := power
		if n := e(i); n != 1 {
			term = number().Quo(power, integer(n))
		}
		sum.Add(sum, term)
	}
}

func one(int64) int64   { return 1 }
func odd(i int64) int64 { return 2*i + 1 }

// sine and cosine are of angles up to π/4.
func sine(r *big.Float) *big.Float {
	return series(r, minusSquare(r), func(i int64) int64 { return 2 * i * (2*i + 1) }, one)
}

func cosine(r *big.Float) *big.Float {
	return series(integer(1), minusSquare(r), func(i int64) int64 { return 2 * i * (2*i - 1) }, one)
}

func minusSquare(v *big.Float) *big.Float {
	s := number().Mul(v, v)
	return s.Neg(s)
}

// angle is an angle less the nearest multiple of π/2.
type angle struct {
	quarter uint64 // the two lowest bits of the multiple
	rest    *big.Float
}

// Reduces reports whether the angle can be reduced (SDM vol. 1, 8.3.8, and vol. 2, FSIN).
func (n Number) Reduces() bool { return n.Kind != Finite || n.Exp < 63 }

// angle reduces a number below 2^63. The difference is exact.
func (n Number) angle() angle {
	v, half := n.value(), literal(halfAnglePi)
	q := number().Quo(v, half)
	nearest := number().SetFloat64(0.5)
	if n.Neg {
		nearest.Neg(nearest)
	}
	q.Add(q, nearest)
	k, _ := q.Int(nil)
	quarter := new(big.Int).And(k, big.NewInt(3)).Uint64()
	return angle{quarter, v.Sub(v, half.Mul(half, number().SetInt(k)))}
}

// sine is that of the angle and some quarters of a turn.
func (a angle) sine(quarters uint64) *big.Float {
	q := a.quarter + quarters
	v := a.rest
	switch small := v.MantExp(nil) <= tiny; {
	case q&1 == 0 && small:
		v = nudged(number().Set(v), false)
	case q&1 == 0:
		v = sine(v)
	case small:
		v = nudged(integer(1), false)
	default:
		v = cosine(v)
	}
	if q&2 != 0 {
		v.Neg(v)
	}
	return v
}

// trigonometric applies a function to an angle; zero is its value for the angle 0.
func (c *Context) trigonometric(f Format, a, zero Number, of func(a angle) *big.Float) Number {
	return c.one(a, func(a Number) Number {
		switch a.Kind {
		case Zero:
			return zero
		case Infinite:
			return c.invalid()
		}
		return c.irrational(f, of(a.angle()))
	})
}

// unit is the number 1.
var unit = Number{Kind: Finite, Sig: lead}

// Sin gives the sine of an angle below 2^63.
func (c *Context) Sin(f Format, a Number) Number {
	return c.trigonometric(f, a, a, func(a angle) *big.Float { return a.sine(0) })
}

// Cos gives the cosine of an angle below 2^63.
func (c *Context) Cos(f Format, a Number) Number {
	return c.trigonometric(f, a, unit, func(a angle) *big.Float { return a.sine(1) })
}

// Tan gives the tangent of an angle below 2^63.
func (c *Context) Tan(f Format, a Number) Number {
	return c.trigonometric(f, a, a, func(a angle) *big.Float {
		if a.quarter&1 == 0 && a.rest.MantExp(nil) <= tiny {
			return nudged(a.rest, true)
		}
		return number().Quo(a.sine(0), a.sine(1))
	})
}

// One gives the number that a tangent comes with.
func (c *Context) One(_ Format, a Number) Number {
	return c.one(a, func(a Number) Number {
		if a.Kind == Infinite {
			return c.invalid()
		}
		return unit
	})
}

// Atan2 gives the angle of the point x, y.
func (c *Context) Atan2(f Format, y, x Number) Number {
	return c.two(y, x, func(y, x Number) Number {
		var v *big.Float
		switch {
		case y.Kind == Zero && !x.Neg, y.Kind == Finite && x.Kind == Infinite && !x.Neg:
			return Number{Neg: y.Neg}
		case y.Kind == Zero, y.Kind == Finite && x.Kind == Infinite:
			v = literal(pi)
		case y.Kind == Infinite && x.Kind == Infinite:
			if v = number().SetMantExp(literal(pi), -2); x.Neg {
				v.Mul(v, integer(3))
			}
		case y.Kind == Infinite, x.Kind == Zero:
			v = number().SetMantExp(literal(pi), -1)
		default:
			v = angleOf(y.value(), x.value())
		}
		if v.Abs(v); y.Neg {
			v.Neg(v)
		}
		return c.irrational(f, v)
	})
}

// angleOf is the angle of a point above the axis of x, or below it.
func angleOf(y, x *big.Float) *big.Float {
	left := x.Signbit()
	y.Abs(y)
	x.Abs(x)
	var v *big.Float
	if y.Cmp(x) <= 0 {
		v = arctangent(y.Quo(y, x))
	} else {
		v = number().SetMantExp(literal(pi), -1)
		v.Sub(v, arctangent(x.Quo(x, y)))
	}
	if left {
		v.Sub(literal(pi), v)
	}
	return v
}

// arctangent is of a number up to 1: three times it is that of half the angle.
func arctangent(z *big.Float) *big.Float {
	if z.MantExp(nil) <= tiny {
		return nudged(z, false)
	}
	for range 3 {
		root := number().Mul(z, z)
		root.Sqrt(root.Add(root, integer(1)))
		z.Quo(z, root.Add(root, integer(1)))
	}
	v := series(z, minusSquare(z), one, odd)
	return v.SetMantExp(v, 3)
}

// Exp2m1 gives 2^a-1 for a from -1 to 1. Another number has no defined result (SDM vol. 2, F2XM1), and stays as it is.
func (c *Context) Exp2m1(f Format, a Number) Number {
	return c.one(a, func(a Number) Number {
		switch half := (Number{Kind: Finite, Neg: true, Exp: -1, Sig: lead}); {
		case a.Kind == Infinite && a.Neg:
			return unit.negate()
		case a.Kind != Finite, a == unit:
			return a
		case a == unit.negate():
			return half
		case a.Exp >= 0:
			c.Raised |= Inexact
			return a
		}
		v := a.value()
		v.Mul(v, literal(ln2))
		return c.irrational(f, series(v, v, func(i int64) int64 { return i + 1 }, one))
	})
}

// Log2 gives y times the binary logarithm of x.
func (c *Context) Log2(f Format, y, x Number) Number {
	return c.two(y, x, func(y, x Number) Number {
		var l Number // the logarithm, or another number with its sign
		y.Denormal = false
		switch {
		case x.Kind == Zero:
			l = infinity(true)
			if y.Kind == Finite {
				c.Raised |= DivideByZero
			}
		case x.Neg:
			return c.invalid()
		case x.Kind == Infinite:
			l = x
		case x.Sig == lead:
			l = c.FromInt(Extended, int64(x.Exp))
		case y.Kind != Finite:
			l = Number{Kind: Finite, Neg: x.Exp < 0, Sig: lead}
		default:
			v := logarithm(x.value())
			return c.irrational(f, v.Mul(v, y.value()))
		}
		return c.Mul(f, y, l)
	})
}

// Log2p1 gives y times the binary logarithm of x+1. Where there is none the result is not defined (SDM vol. 2, FYL2XP1): it is x.
func (c *Context) Log2p1(f Format, y, x Number) Number {
	return c.two(y, x, func(y, x Number) Number {
		switch {
		case x.Kind == Infinite && x.Neg:
			return c.invalid()
		case y.Kind != Finite || x.Kind != Finite:
			y.Denormal, x.Denormal = false, false
			return c.Mul(f, y, x)
		case x.Neg && x.Exp >= 0:
			c.Raised |= Inexact
			return x
		case x.Exp >= -1:
			v := logarithm(x.value().Add(x.value(), integer(1)))
			return c.irrational(f, v.Mul(v, y.value()))
		}
		v := logarithmOf(x.value())
		return c.irrational(f, v.Mul(v, y.value()))
	})
}

// logarithm is the binary one of a positive number.
func logarithm(v *big.Float) *big.Float {
	exp := int64(v.MantExp(v))
	if v.Cmp(number().SetFloat64(0.70703125)) < 0 { // near the root of a half: the sum below loses nothing
		exp--
		v.SetMantExp(v, 1)
	}
	v = logarithmOf(v.Sub(v, integer(1)))
	return v.Add(v, integer(exp))
}

// logarithmOf is the binary logarithm of d+1, for a small d.
func logarithmOf(d *big.Float) *big.Float {
	z := number().Quo(d, number().Add(d, integer(2)))
	v := series(z, number().Mul(z, z), one, odd)
	v.Quo(v, literal(ln2))
	return v.SetMantExp(v, 1)
}
