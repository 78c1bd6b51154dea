package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestContexts has two contexts with different tables, whose code at one address adds different numbers. Where
// their pages differ too, to come back asks for no translation, and ForgetTranslations has both ask again.
func TestContexts(t *testing.T) {
	const page, apart = 0x1000, 0x8000
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0)
	numbers := []uint8{1, 50}
	for i, add := range numbers {
		for at := uint64(0x10000); at < 0x14000; at += 2 * page {
			for j, in := range [][4]byte{{toyLoad, 2, 3, 0}, {toyAdd, 1, 1, add}, {toyHalt}} {
				c.Memory.Write(at+uint64(i)*apart+uint64(4*j), in[:])
			}
			c.Memory.Write(at+page+uint64(i)*apart, []byte{add})
		}
	}
	run := func(context uint8, at uint64) (asked int) {
		c.SwitchTranslations(context)
		c.offset = uint64(context) * apart
		c.Halted, c.R[PC], c.R[1], c.R[3], c.asked = false, at, 0, at+page, 0
		c.Run(soon)
		if want := uint64(numbers[context]); c.R[1] != want || c.R[2] != want {
			t.Fatalf("context %d: code adds %d, data are %d, want %d", context, c.R[1], c.R[2], want)
		}
		return c.asked
	}
	for range 3 {
		run(0, 0x10000)
		run(1, 0x10000)
	}
	for _, x := range []struct {
		context uint8
		forget  bool
		asked   int
	}{
		{0, true, 2},
		{1, false, 2},
		{0, false, 0},
		{1, false, 0},
		{0, true, 2},
		{1, false, 2},
		{1, false, 0},
	} {
		if x.forget {
			c.ForgetTranslations()
		}
		got := run(x.context, 0x10000+uint64(x.context)*2*page)
		require.That(t, got == x.asked, "%+v: %d translations", x, got)
	}
}
