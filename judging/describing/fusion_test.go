package describing

import (
	"strings"
	"testing"
	"testing/synctest"

	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

// TestFusions finds the pairs of a host again, where the description of the family has others.
func TestFusions(t *testing.T) {
	for _, c := range []struct {
		numbers []string
		want    string // of each operation
	}{
		{nil, "cmp o b e be s p l le, test o b e be s p l le, and o b e be s p l le, or o b e be s p l le, xor o b e be s p l le, add o b e be s p l le, sub o b e be s p l le, inc o b e be s p l le, dec o b e be s p l le, immediate -"},
		{[]string{`fusion={ test = ["o", "p"], cmp = ["b", "le"], inc = ["p"], dec = ["e", "p"], immediate = true, source = "prior: a test" }`}, "cmp b le, test o p, and -, or -, xor -, add -, sub -, inc p, dec e p, immediate true"},
	} {
		d := modern(t, c.numbers...)
		d.set(&doc.Node{Kind: doc.Bool, Text: "true"}, "fusion", "immediate")
		synctest.Test(t, func(*testing.T) { require.NoError(t, d.fusions()) })
		got := ""
		for i, op := range append(fusible, withImmediate) {
			if i > 0 {
				got += ", "
			}
			got += op.name + " " + words(d.node("fusion", op.name))
		}
		require.Equal(t, got, c.want, "a host with %q", c.numbers)
		require.NoError(t, require.Err(read(d.Root)))
		require.Equal(t, len(d.Rows), len(fusible)+1, "rows; open %q", d.Open)
	}
	d := modern(t, `fusion={ source = "prior: a test" }`)
	synctest.Test(t, func(*testing.T) { require.NoError(t, d.fusions()) })
	require.Equal(t, strings.Join(d.Open, "; "), "fusion: all pairs take 1.00 to 1.00 cycles", "what is open of a host without fusion")
}
