package float

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "write the golden file of this package again")

// edges are numbers of each kind with both signs, on either side of where functions change their ways.
func edges() (all []Number) {
	for _, x := range []struct {
		head uint16
		sigs []uint64
	}{
		{0, []uint64{0, 1, 0x35 << 40, lead >> 1}},
		{1, []uint64{lead}},
		{0x3fff - 1070, []uint64{lead | 3<<38}},
		{0x3fff - 70, []uint64{lead | 1}},
		{0x3fff - 1, []uint64{lead, 0xb504f333f9de6484, ^uint64(0)}},
		{0x3fff, []uint64{lead, lead | 1, 3 << 62, 0}},
		{0x3fff + 1, []uint64{lead, 5 << 61}},
		{0x3fff + 62, []uint64{^uint64(0)}},
		{0x3fff + 63, []uint64{lead}},
		{0x3fff + 127, []uint64{0xffffff4 << 36}},
		{0x7ffe, []uint64{^uint64(0)}},
		{0x7fff, []uint64{lead, lead | 5, lead | quiet | 7}},
	} {
		for _, sig := range x.sigs {
			all = append(all, UnpackExtended(sig, x.head), UnpackExtended(sig, x.head|0x8000))
		}
	}
	return all
}

// A way is a format to round to, and a context.
type way struct {
	f Format
	c Context
}

func ways() (all []way) {
	for _, f := range []Format{Single, Double, Extended, {24, 15}} {
		for round := range TowardZero + 1 {
			plain := *context()
			plain.Round = round
			plain.Away = true // so that an operation has to say that its result is not
			flushed, delivered := plain, plain
			flushed.FlushInputs, flushed.FlushResults = true, true
			delivered.Deliver, delivered.TinyBefore = Overflow|Underflow, true
			all = append(all, way{f, plain}, way{f, flushed}, way{f, delivered})
		}
	}
	return all
}

// TestEffects holds what functions give for edges in all ways, and for pairs of edges in some, and what they raise. The golden file has
// a sum for each function. TestX87FunctionsAgainstHost of cpus/x86 and those beside it compare them with a host.
func TestEffects(t *testing.T) {
	var out strings.Builder
	note := func(name string, all *strings.Builder) {
		fmt.Fprintf(&out, "%s: %.6x\n", name, sha256.Sum256([]byte(all.String())))
	}
	numbers, all := edges(), ways()
	for _, of := range []struct {
		name string
		of   func(c *Context, f Format, n Number) any
	}{
		{"square root", func(c *Context, f Format, n Number) any { return c.Sqrt(f, n) }},
		{"convert", func(c *Context, f Format, n Number) any { return f.Pack(c.Convert(f, n)) }},
		{"integral", func(c *Context, _ Format, n Number) any { return []Number{c.Integral(n, c.Round), c.Rint(n)} }},
		{"16 bits", func(c *Context, _ Format, n Number) any { v, ok := c.ToInt(n, 16, c.Round); return []any{v, ok} }},
		{"64 bits", func(c *Context, _ Format, n Number) any { v, ok := c.ToInt(n, 64, c.Round); return []any{v, ok} }},
		{"of an integer", func(c *Context, f Format, n Number) any { return c.FromInt(f, int64(n.Sig)>>(n.Exp&63)) }},
		{"extract", func(c *Context, _ Format, n Number) any { e, s := c.Extract(n); return []Number{e, s} }},
		{"2^n-1", func(c *Context, f Format, n Number) any { return c.Exp2m1(f, n) }},
		{"angle", func(c *Context, f Format, n Number) any {
			if !n.Reduces() {
				return "too large"
			}
			return []Number{c.Sin(f, n), c.Cos(f, n), c.Tan(f, n), c.One(f, n)}
		}},
	} {
		var said strings.Builder
		for _, n := range numbers {
			for _, w := range all {
				fmt.Fprintln(&said, of.of(&w.c, w.f, n), w.c.Raised, w.c.Away)
			}
		}
		note(of.name, &said)
	}
	for _, of := range []struct {
		name string
		of   func(c *Context, f Format, a, b Number) any
	}{
		{"add", func(c *Context, f Format, a, b Number) any { return c.Add(f, a, b) }},
		{"subtract", func(c *Context, f Format, a, b Number) any { return c.Sub(f, a, b) }},
		{"multiply", func(c *Context, f Format, a, b Number) any { return c.Mul(f, a, b) }},
		{"divide", func(c *Context, f Format, a, b Number) any { return c.Div(f, a, b) }},
		{"scale", func(c *Context, f Format, a, b Number) any { return c.Scale(f, a, b) }},
		{"compare", func(c *Context, f Format, a, b Number) any { return c.Compare(a, b, f == Single) }},
		{"remainder", func(c *Context, f Format, a, b Number) any {
			r, q, partial := c.Remainder(f, a, b, f.Exponent == 15, func(d int) int { return d&31 | 32 })
			return []any{r, q, partial}
		}},
		{"angle of a point", func(c *Context, f Format, a, b Number) any { return c.Atan2(f, a, b) }},
		{"logarithm", func(c *Context, f Format, a, b Number) any { return c.Log2(f, a, b) }},
		{"logarithm of n+1", func(c *Context, f Format, a, b Number) any { return c.Log2p1(f, a, b) }},
	} {
		var said strings.Builder
		for i, a := range numbers {
			for j, b := range numbers {
				w := all[(5*i+j)%len(all)]
				fmt.Fprintln(&said, of.of(&w.c, w.f, a, b), w.c.Raised, w.c.Away)
			}
		}
		note(of.name, &said)
	}
	require.Lines(t, "testdata/effects.txt", out.String(), *update)
}
