package float

import "math/bits"

// Format is a binary format of IEEE 754-2008, 3.4. Precision counts the leading bit of the significand. A result may be
// rounded to the precision of one format in the range of another.
type Format struct {
	Precision, Exponent int // in bits
}

// The formats of 32, 64 and 80 bits (SDM vol. 1, table 4-2).
var (
	Single   = Format{24, 8}
	Double   = Format{53, 11}
	Extended = Format{64, 15}
)

func (f Format) emax() int { return 1<<(f.Exponent-1) - 1 }
func (f Format) emin() int { return 1 - f.emax() }

// wrap is by what an exponent is changed when overflow or underflow is delivered (IEEE 754-1985, 7.3).
func (f Format) wrap() int { return 3 << (f.Exponent - 2) }

// Kind says what a Number is. The zero value is a zero.
type Kind uint8

// A Number is one of these. Unsupported are encodings of the extended format that are no number (SDM vol. 1, table 8-3).
const (
	Zero Kind = iota
	Finite
	Infinite
	Quiet
	Signalling
	Unsupported
)

// Number is an unpacked number. One that is finite is Sig·2^(Exp-63), with the highest bit of Sig set. Of a NaN, Sig is the
// significand as the extended format has it.
type Number struct {
	Kind     Kind
	Neg      bool
	Denormal bool // it was one in its format
	Exp      int
	Sig      uint64
}

const (
	lead  = 1 << 63
	quiet = 1 << 62 // of a NaN's significand
)

// NaN reports one of either kind.
func (n Number) NaN() bool { return n.Kind == Quiet || n.Kind == Signalling }

// DefaultNaN gives the NaN without a payload, whose sign instruction sets choose.
func DefaultNaN(neg bool) Number { return Number{Kind: Quiet, Neg: neg, Sig: lead | quiet} }

// Quieted is a NaN that signals nothing.
func (n Number) Quieted() Number {
	n.Kind, n.Sig = Quiet, n.Sig|quiet
	return n
}

// negate changes the sign.
func (n Number) negate() Number {
	n.Neg = !n.Neg
	return n
}

// infinity has the sign of an overflow.
func infinity(neg bool) Number { return Number{Kind: Infinite, Neg: neg} }

// finite makes a number of a significand that is not zero and whose bit 63 weighs 2^exp.
func finite(neg bool, exp int, sig uint64) Number {
	shift := bits.LeadingZeros64(sig)
	return Number{Kind: Finite, Neg: neg, Exp: exp - shift, Sig: sig << shift}
}

// Unpack takes a number of up to 64 bits apart.
func (f Format) Unpack(v uint64) Number {
	stored := f.Precision - 1
	neg := v>>(stored+f.Exponent)&1 != 0
	field := int(v >> stored & (1<<f.Exponent - 1))
	return f.unpack(neg, field, v<<(64-f.Precision)&^lead, lead)
}

// unpack makes a Number of the fields of a format. leading has the highest bit of a normal number, where it is not stored.
func (f Format) unpack(neg bool, field int, sig, leading uint64) Number {
	switch {
	case field == 1<<f.Exponent-1 && sig&^lead == 0:
		return infinity(neg)
	case field == 1<<f.Exponent-1:
		n := Number{Kind: Signalling, Neg: neg, Sig: sig | lead}
		if sig&quiet != 0 {
			n.Kind = Quiet
		}
		return n
	case field != 0:
		return Number{Kind: Finite, Neg: neg, Exp: field - f.emax(), Sig: sig | leading}
	case sig == 0:
		return Number{Neg: neg}
	}
	n := finite(neg, f.emin(), sig)
	n.Denormal = true
	return n
}

// fields are its inverse, for a number that the format has.
func (f Format) fields(n Number) (field int, sig uint64) {
	switch n.Kind {
	case Zero:
		return 0, 0
	case Finite:
		if n.Exp < f.emin() {
			return 0, n.Sig >> (f.emin() - n.Exp)
		}
		return n.Exp + f.emax(), n.Sig
	case Infinite:
		return 1<<f.Exponent - 1, lead
	}
	return 1<<f.Exponent - 1, n.Sig
}

// Pack puts a number that the format has together. The payload of a NaN is cut off.
func (f Format) Pack(n Number) uint64 {
	field, sig := f.fields(n)
	v := uint64(field)<<(f.Precision-1) | sig&^lead>>(64-f.Precision)
	if n.Neg {
		v |= 1 << (f.Precision - 1 + f.Exponent)
	}
	return v
}

// UnpackExtended takes a number of 80 bits apart: the significand with its leading bit, and sign and exponent.
func UnpackExtended(sig uint64, head uint16) Number {
	field := int(head & 0x7fff)
	if field != 0 && sig&lead == 0 {
		return Number{Kind: Unsupported, Neg: head>>15 != 0, Sig: sig}
	}
	return Extended.unpack(head>>15 != 0, field, sig, 0)
}

// PackExtended is its inverse.
func PackExtended(n Number) (sig uint64, head uint16) {
	field, sig := Extended.fields(n)
	if n.Neg {
		field |= 1 << 15
	}
	return sig, uint16(field)
}
