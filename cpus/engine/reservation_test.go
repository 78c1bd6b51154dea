package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestReservation holds when a conditional store is made: of the operand that was reserved last, once, and while its line is there and
// no other CPU has written it.
func TestReservation(t *testing.T) {
	const line = 64
	for name, x := range map[string]struct {
		between func(c *toy)
		keeps   bool
	}{
		"nothing":                 {func(*toy) {}, true},
		"another store":           {func(c *toy) { c.Reserved(dataAt, 8) }, false},
		"clear":                   {func(c *toy) { c.DropReservation() }, false},
		"another reservation":     {func(c *toy) { c.Reserve(dataAt+8, 8) }, false},
		"a smaller one":           {func(c *toy) { c.Reserve(dataAt, 4) }, false},
		"its line":                {func(c *toy) { c.DropLine(c.line(dataAt)) }, false},
		"the next line":           {func(c *toy) { c.DropLine(c.line(dataAt) + 1) }, true},
		"a store into it":         {func(c *toy) { c.loseReservation(dataAt+line-1, 1) }, false},
		"a store that ends in it": {func(c *toy) { c.loseReservation(dataAt-4, 8) }, false},
		"a store before it":       {func(c *toy) { c.loseReservation(dataAt-8, 8) }, true},
		"a store behind it":       {func(c *toy) { c.loseReservation(dataAt+line, 8) }, true},
		"its line is not there":   {func(c *toy) { c.l1d.Drop(c.line(dataAt)); c.l2.Drop(c.line(dataAt)) }, false},
	} {
		c := cachedToys(t, toyConfig(cpus.Window, line), 2)
		Load[uint64](&c.Core, dataAt)
		c.Reserve(dataAt, 8)
		x.between(c)
		held, ok := c.Reserved(dataAt, 8)
		again, _ := c.Reserved(dataAt, 8)
		require.That(t, ok && held == x.keeps && !again, "%s: the store is made: %v, a second one: %v", name, held, again)
	}
}
