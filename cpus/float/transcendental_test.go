package float

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
)

// TestIdentities holds the constants and the series against each other, as far as their precision goes.
func TestIdentities(t *testing.T) {
	same := func(what string, a, b *big.Float) {
		t.Helper()
		d := number().Sub(a, b)
		require.That(t, d.Sign() == 0 || d.MantExp(nil) < a.MantExp(nil)-work+12, "%s: %s and %s", what, a.Text('g', 60), b.Text('g', 60))
	}
	ratio := func(a, b int64) *big.Float { return number().Quo(integer(a), integer(b)) }
	machin := number().Mul(integer(16), arctangent(ratio(1, 5)))
	same("π", literal(pi), machin.Sub(machin, number().Mul(integer(4), arctangent(ratio(1, 239)))))
	same("log2 e", ratio(1, 1).Quo(integer(1), literal(ln2)), logarithm(series(integer(1), integer(1), func(i int64) int64 { return i }, one)))
	require.That(t, literal(halfAnglePi).MinPrec() == 66, "the π of angles has %d bits", literal(halfAnglePi).MinPrec())
	rng := rand.New(rand.NewPCG(9, 9))
	for range 200 {
		n := Number{Kind: Finite, Neg: rng.IntN(2) == 0, Exp: rng.IntN(80) - 30, Sig: rng.Uint64() | lead}
		if !n.Reduces() {
			continue
		}
		a := n.angle()
		s, c := a.sine(0), a.sine(1)
		same("sin²+cos²", integer(1), number().Add(number().Mul(s, s), number().Mul(c, c)))
		require.That(t, a.rest.MantExp(nil) <= 0, "the rest of %v is %s", n, a.rest)
	}
	for range 200 {
		x := Number{Kind: Finite, Exp: -rng.IntN(70), Sig: rng.Uint64() | lead}.value()
		y := number().Mul(x, literal(ln2))
		less := series(y, y, func(i int64) int64 { return i + 1 }, one)
		same("log2(1+(2^x-1))", x, logarithmOf(less))
	}
}

// TestTinyFunctions rounds functions of numbers so small that they are their first terms, which are not reached.
func TestTinyFunctions(t *testing.T) {
	x := Number{Kind: Finite, Exp: -100, Sig: lead | 1}
	down, up := x, x
	down.Sig--
	up.Sig++
	for _, c := range []struct {
		name       string
		of         func(c *Context, n Number) Number
		low, exact Number
	}{
		{"sin", func(c *Context, n Number) Number { return c.Sin(Extended, n) }, down, x},
		{"tan", func(c *Context, n Number) Number { return c.Tan(Extended, n) }, x, up},
		{"atan", func(c *Context, n Number) Number { return c.Atan2(Extended, n, unit) }, down, x},
		{"cos", func(c *Context, n Number) Number { return c.Cos(Extended, n) }, Number{Kind: Finite, Exp: -1, Sig: ^uint64(0)}, unit},
	} {
		for round, want := range map[Rounding]Number{TowardZero: c.low, Down: c.low, Up: c.exact} {
			x87 := context()
			x87.Round = round
			got := c.of(x87, x)
			require.That(t, got == want && x87.Raised == Inexact, "%s, direction %d: %+v, raised %b", c.name, round, got, x87.Raised)
		}
	}
}
