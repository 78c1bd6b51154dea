package float

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
)

// draw gives bits of a double with many of what is special.
func draw(rng *rand.Rand) uint64 {
	v := rng.Uint64()
	switch rng.IntN(8) {
	case 0:
		v &^= 0x7ff << 52
	case 1:
		v = v&^(0x7ff<<52) | (1023+rng.Uint64N(60))<<52
	case 2:
		v &= 0xfff<<52 | 1<<rng.IntN(53)
	case 3:
		v = v&(0x800<<52) | rng.Uint64N(3)
	}
	return v
}

func context() *Context {
	return &Context{Default: DefaultNaN(true), Propagate: func(a, b Number) Number {
		if a.NaN() {
			return a
		}
		return b
	}}
}

// TestAgainstBigFloat holds sums, products, quotients and roots against math/big in every direction, for results that are
// normal.
func TestAgainstBigFloat(t *testing.T) {
	modes := []big.RoundingMode{NearestEven: big.ToNearestEven, Down: big.ToNegativeInf, Up: big.ToPositiveInf, TowardZero: big.ToZero}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		a, b := draw(rng), draw(rng)
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		if math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) || y == 0 || x == 0 {
			continue
		}
		f := []Format{Double, Single, Extended}[rng.IntN(3)]
		mode := Rounding(rng.IntN(4))
		want := new(big.Float).SetPrec(uint(f.Precision)).SetMode(modes[mode])
		c := context()
		c.Round = mode
		bx, by := big.NewFloat(x), big.NewFloat(y)
		var got Number
		op := rng.IntN(4)
		switch na, nb := Double.Unpack(a), Double.Unpack(b); op {
		case 0:
			got = c.Add(f, na, nb)
			want.Add(bx, by)
		case 1:
			got = c.Mul(f, na, nb)
			want.Mul(bx, by)
		case 2:
			got = c.Div(f, na, nb)
			want.Quo(bx, by)
		case 3:
			got = c.Sqrt(f, Number{Kind: Finite, Exp: na.Exp, Sig: na.Sig})
			root := new(big.Float).SetPrec(400).Sqrt(bx.Abs(bx))
			want.Set(root)
		}
		if c.Raised&(Overflow|Underflow) != 0 || got.Kind != Finite || got.Exp < f.emin() {
			continue
		}
		exact := want.Acc() == big.Exact
		have := new(big.Float).SetMantExp(new(big.Float).SetUint64(got.Sig), got.Exp-63)
		if got.Neg {
			have.Neg(have)
		}
		if have.Cmp(want) != 0 || op != 3 && exact != (c.Raised&Inexact == 0) {
			t.Fatalf("operation %d of %g and %g, to %v, direction %d: %s, raised %b; want %s, exact %v", op, x, y, f, mode, have.Text('p', 0), c.Raised, want.Text('p', 0), exact)
		}
	}
}

// TestPackIsTheInverse holds that a number comes back as the bits that it was made of.
func TestPackIsTheInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		v := draw(rng)
		got := Double.Pack(Double.Unpack(v))
		require.Need(t, got == v, "double %#x became %#x", v, got)
		got = Single.Pack(Single.Unpack(v >> 32))
		require.Need(t, got == v>>32, "single %#x became %#x", v>>32, got)
		sig, head := v|lead, uint16(rng.Uint32())
		if head&0x7fff == 0 {
			sig &^= lead
		}
		s, h := PackExtended(UnpackExtended(sig, head))
		require.Need(t, s == sig && h == head, "extended %#x %#x became %#x %#x", head, sig, h, s)
	}
}

// TestConversions holds conversions to single precision and to integers against the language's, whose results are the
// same on every host.
func TestConversions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		v := draw(rng)
		x := math.Float64frombits(v)
		c := context()
		n := c.Convert(Single, Double.Unpack(v))
		if want := uint64(math.Float32bits(float32(x))); !math.IsNaN(x) && Single.Pack(n) != want {
			t.Fatalf("%g to single: %#x, want %#x", x, Single.Pack(n), want)
		}
		i, ok := c.ToInt(Double.Unpack(v), 64, TowardZero)
		fits := math.Abs(x) < 1<<63 || x == -1<<63
		require.Need(t, fits == ok && (!fits || i == int64(x)), "%g to an integer: %d, %v", x, i, ok)
		got := Double.Pack(c.FromInt(Double, int64(v)))
		require.Need(t, got == math.Float64bits(float64(int64(v))), "%d to double: %#x", int64(v), got)
	}
}
