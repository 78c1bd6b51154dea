package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/float"
	"kprobesim/internal/encoding"
)

// Bits of MXCSR (SDM vol. 1, figure 10-3). The exceptions come first, and their masks in the same order. Directions and
// exceptions have the numbers of package float.
const (
	mxcsrFlags = 0x3f
	mxcsrDAZ   = 1 << 6
	mxcsrMasks = 7
	mxcsrRound = 13
	mxcsrFTZ   = 1 << 15
)

// beforeComputing are the exceptions of operands. Where one of them is delivered no other is noted (SDM vol. 1, 11.5.3).
const beforeComputing = float.Invalid | float.Denormal | float.DivideByZero

// mxcsrContext reads from MXCSR how to round and which exceptions to deliver.
func (c *CPU) mxcsrContext() float.Context {
	m := c.fpu.mxcsr
	return float.Context{
		Round: float.Rounding(m >> mxcsrRound & 3), FlushInputs: m&mxcsrDAZ != 0, FlushResults: m&mxcsrFTZ != 0,
		Deliver: ^float.Flags(m>>mxcsrMasks) & mxcsrFlags, Propagate: firstNaN, Default: float.DefaultNaN(true),
	}
}

// firstNaN chooses as SSE does (SDM vol. 1, table 4-7).
func firstNaN(a, b float.Number) float.Number {
	if a.NaN() {
		return a
	}
	return b
}

// sseRaised notes the exceptions of an instruction, and delivers those that are not masked; then it is false and there is
// no result.
func (c *CPU) sseRaised(x *float.Context) bool {
	raised := x.Raised
	if raised&beforeComputing&x.Deliver != 0 {
		raised &= beforeComputing
	}
	c.fpu.mxcsr |= uint32(raised)
	switch {
	case raised&x.Deliver == 0:
		return true
	case c.cr4&cr4OSXMMEXCPT == 0:
		c.raise(vecUD)
	default:
		c.raise(vecXF)
	}
	return false
}

// laneFunc computes one lane from the bits of two.
type laneFunc func(x *float.Context, a, b, imm uint64) uint64

// lanewise describes an operation on lanes: how many, and of how many bits they are before and after.
type lanewise struct {
	from, to uint
	count    int
	whole    bool // what is above the lanes is cleared
	f        laneFunc
}

// row makes the row of an operation on lanes. That on one lane keeps what is above.
func (l lanewise) row() row {
	io := uint16(ioReadDst)
	if l.whole {
		io = 0
	}
	return vectorForm(int(l.from)/8*l.count, io, func(c *CPU, a, b vec, imm uint64) (vec, bool) {
		x, r := c.mxcsrContext(), a
		if l.whole {
			r = vec{}
		}
		for i := range l.count {
			r = r.with(i, l.to, l.f(&x, a.lane(i, l.from), b.lane(i, l.from), imm))
		}
		return r, c.sseRaised(&x)
	})
}

// formatOf is the format of a lane.
func formatOf(width uint) float.Format {
	if width == 32 {
		return float.Single
	}
	return float.Double
}

// numbers makes a function of lanes from one of numbers.
func numbers(width uint, op operation) laneFunc {
	f := formatOf(width)
	return func(x *float.Context, a, b, _ uint64) uint64 { return f.Pack(op(x, f, f.Unpack(a), f.Unpack(b))) }
}

// operation computes with numbers of a format.
type operation func(x *float.Context, f float.Format, a, b float.Number) float.Number

// extreme gives the first operand if its order to the second is the wanted one, and else the second (SDM vol. 2, MINSD and
// MAXSD).
func extreme(wanted float.Order) operation {
	return func(x *float.Context, _ float.Format, a, b float.Number) float.Number {
		if x.Compare(a, b, true) == wanted {
			return x.Flushed(a)
		}
		return x.Flushed(b)
	}
}

func squareRoot(x *float.Context, f float.Format, _, b float.Number) float.Number {
	return x.Sqrt(f, b)
}

// The approximations have an error of at most 1.5/4096 of the number (SDM vol. 2, RCPPS, RSQRTPS). Processors differ in what
// they give within it; here it is the nearest number. They heed no mode, raise nothing, and know no denormal number.
func approximation(op operation) operation {
	return func(x *float.Context, f float.Format, _, b float.Number) float.Number {
		y := float.Context{FlushInputs: true, FlushResults: true, Propagate: x.Propagate, Default: x.Default}
		return op(&y, f, float.Number{Kind: float.Finite, Sig: 1 << 63}, b)
	}
}

func inverseRoot(x *float.Context, f float.Format, one, b float.Number) float.Number {
	r := x.Sqrt(float.Extended, b)
	if b.Kind == float.Finite && b.Denormal {
		r = float.Number{Neg: b.Neg}
	}
	return x.Div(f, one, r)
}

// predicates are the orders for which a comparison holds, as bits, and whether it signals quiet NaNs (SDM vol. 2, CMPPD,
// table 3-1). Behind the first four are their opposites.
var predicates = [4]struct {
	orders  uint8
	signals bool
}{
	{1 << float.Equal, false},
	{1 << float.Less, true},
	{1<<float.Less | 1<<float.Equal, true},
	{1 << float.Unordered, false},
}

// comparison makes a mask of the predicate that the immediate names.
func comparison(width uint) laneFunc {
	f := formatOf(width)
	return func(x *float.Context, a, b, imm uint64) uint64 {
		p := predicates[imm&3]
		holds := p.orders>>x.Compare(f.Unpack(a), f.Unpack(b), p.signals)&1 != 0
		return -boolBit(holds != (imm&4 != 0))
	}
}

// converted makes a function of lanes that changes the format.
func converted(from, to float.Format) laneFunc {
	return func(x *float.Context, _, b, _ uint64) uint64 { return to.Pack(x.Convert(to, from.Unpack(b))) }
}

// fromInteger converts a signed integer of some bits.
func fromInteger(size uint, to float.Format) laneFunc {
	return func(x *float.Context, _, b, _ uint64) uint64 { return to.Pack(x.FromInt(to, sext(b, size))) }
}

// toInteger converts to a signed integer of some bits, by the mode or towards zero. One that does not fit is the most
// negative (SDM vol. 1, 4.8.3.7 and table 4-1).
func toInteger(from float.Format, size uint, truncates bool) laneFunc {
	return func(x *float.Context, _, b, _ uint64) uint64 {
		r := x.Round
		if truncates {
			r = float.TowardZero
		}
		v, ok := x.ToInt(from.Unpack(b), int(size), r)
		if !ok {
			v = -1 << (size - 1)
		}
		return uint64(v) & (^uint64(0) >> (64 - size))
	}
}

// toGeneralInteger is toInteger with a general register as its destination.
func toGeneralInteger(width uint, truncates bool) row {
	f := formatOf(width)
	return generalForm(int(width/8), func(c *CPU, v vec, _ uint64, size int) (uint64, bool) {
		x := c.mxcsrContext()
		r := toInteger(f, uint(size), truncates)(&x, 0, v.lane(0, width), 0)
		return r, c.sseRaised(&x)
	})
}

// fromGeneral converts an integer of 32 or, with REX.W, 64 bits in a general register or memory.
func fromGeneral(width uint) row {
	f := formatOf(width)
	return row{class: clVector, bind: func(d *decoder, r *row) bool {
		size := 32
		for _, p := range d.x.Prefix {
			if p.IsREX() && p&x86asm.PrefixREXW != 0 {
				size = 64
			}
		}
		*r = vectorForm(size/8, ioReadDst, func(c *CPU, a, b vec, _ uint64) (vec, bool) {
			x := c.mxcsrContext()
			v := a.with(0, width, fromInteger(uint(size), f)(&x, 0, b[0], 0))
			return v, c.sseRaised(&x)
		})
		return r.bind(d, r)
	}}
}

// flagsOfOrder are ZF, PF and CF as comiss and fcomi set them (SDM vol. 2, COMISD).
var flagsOfOrder = [...]uint64{
	float.Less: flagCF, float.Equal: flagZF, float.Greater: 0, float.Unordered: flagZF | flagPF | flagCF,
}

// compareToFlags makes the row of a comparison that sets the flags.
func compareToFlags(width uint, signals bool) row {
	f := formatOf(width)
	return vectorForm(int(width/8), ioReadDst|ioNoWrite|ioSetFlag, func(c *CPU, a, b vec, _ uint64) (vec, bool) {
		x := c.mxcsrContext()
		order := x.Compare(f.Unpack(a.lane(0, width)), f.Unpack(b.lane(0, width)), signals)
		if c.sseRaised(&x) {
			c.setArith(flagsOfOrder[order])
		}
		return vec{}, false
	})
}

// inFormats holds the names of an operation on packed and on one, of single and of double precision.
type inFormats [4]x86asm.Op

// rows makes the rows of an operation, f of which has it for lanes of a width. An operation on all lanes that takes one
// operand depends on no other.
func (names inFormats) rows(to map[x86asm.Op]row, unary bool, f func(width uint) laneFunc) {
	for i, op := range names {
		width := uint(32) << (i / 2)
		l := lanewise{from: width, to: width, count: 1, f: f(width)}
		if i%2 == 0 {
			l.count, l.whole = int(128/width), unary
		}
		if op != 0 {
			to[op] = l.row()
		}
	}
}

// floats lists the rows that floatRows makes.
var floats = floatRows()

// floatRows are SDM vol. 1, 5.5.1, 5.6.1 and 5.7: what SSE, SSE2 and SSE3 compute with floating point, but for conversions
// of registers of MMX.
func floatRows() map[x86asm.Op]row {
	rows := map[x86asm.Op]row{
		x86asm.COMISS: compareToFlags(32, true), x86asm.UCOMISS: compareToFlags(32, false),
		x86asm.COMISD: compareToFlags(64, true), x86asm.UCOMISD: compareToFlags(64, false),
		x86asm.CVTSI2SS: fromGeneral(32), x86asm.CVTSI2SD: fromGeneral(64),
		x86asm.CVTSS2SI: toGeneralInteger(32, false), x86asm.CVTTSS2SI: toGeneralInteger(32, true),
		x86asm.CVTSD2SI: toGeneralInteger(64, false), x86asm.CVTTSD2SI: toGeneralInteger(64, true),
	}
	for _, x := range []struct {
		names inFormats
		unary bool
		f     operation
	}{
		{inFormats{x86asm.ADDPS, x86asm.ADDSS, x86asm.ADDPD, x86asm.ADDSD}, false, (*float.Context).Add},
		{inFormats{x86asm.SUBPS, x86asm.SUBSS, x86asm.SUBPD, x86asm.SUBSD}, false, (*float.Context).Sub},
		{inFormats{x86asm.MULPS, x86asm.MULSS, x86asm.MULPD, x86asm.MULSD}, false, (*float.Context).Mul},
		{inFormats{x86asm.DIVPS, x86asm.DIVSS, x86asm.DIVPD, x86asm.DIVSD}, false, (*float.Context).Div},
		{inFormats{x86asm.MINPS, x86asm.MINSS, x86asm.MINPD, x86asm.MINSD}, false, extreme(float.Less)},
		{inFormats{x86asm.MAXPS, x86asm.MAXSS, x86asm.MAXPD, x86asm.MAXSD}, false, extreme(float.Greater)},
		{inFormats{x86asm.SQRTPS, x86asm.SQRTSS, x86asm.SQRTPD, x86asm.SQRTSD}, true, squareRoot},
		{inFormats{x86asm.RCPPS, x86asm.RCPSS}, true, approximation((*float.Context).Div)},
		{inFormats{x86asm.RSQRTPS, x86asm.RSQRTSS}, true, approximation(inverseRoot)},
	} {
		x.names.rows(rows, x.unary, func(width uint) laneFunc { return numbers(width, x.f) })
	}
	inFormats{x86asm.CMPPS, x86asm.CMPSS, x86asm.CMPPD, x86asm.CMPSD_XMM}.rows(rows, false, comparison)
	for op, l := range map[x86asm.Op]lanewise{
		x86asm.CVTSS2SD:  {32, 64, 1, false, converted(float.Single, float.Double)},
		x86asm.CVTSD2SS:  {64, 32, 1, false, converted(float.Double, float.Single)},
		x86asm.CVTPS2PD:  {32, 64, 2, true, converted(float.Single, float.Double)},
		x86asm.CVTPD2PS:  {64, 32, 2, true, converted(float.Double, float.Single)},
		x86asm.CVTDQ2PS:  {32, 32, 4, true, fromInteger(32, float.Single)},
		x86asm.CVTDQ2PD:  {32, 64, 2, true, fromInteger(32, float.Double)},
		x86asm.CVTPS2DQ:  {32, 32, 4, true, toInteger(float.Single, 32, false)},
		x86asm.CVTTPS2DQ: {32, 32, 4, true, toInteger(float.Single, 32, true)},
		x86asm.CVTPD2DQ:  {64, 32, 2, true, toInteger(float.Double, 32, false)},
		x86asm.CVTTPD2DQ: {64, 32, 2, true, toInteger(float.Double, 32, true)},
	} {
		rows[op] = l.row()
	}
	return encoding.Union(rows, sse3Floats())
}
