package races

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestPairsOfAToy has CPUs access words in known orders.
func TestPairsOfAToy(t *testing.T) {
	x := newSharing(func(addr uint64) string { return fmt.Sprintf("f%d+%d", addr/16, addr%16) })
	x.goNames = append(x.goNames, "kprobes.poke")
	load := func(at accessPlace, cpu int, va uint64) { x.access(toucher{at, uint64(cpu), cpu}, va, 8, false) }
	store := func(at accessPlace, cpu int, va uint64, n int) { x.access(toucher{at, uint64(cpu), cpu}, va, n, true) }
	var c Coverage
	for i, tt := range []struct {
		do   func()
		want string
	}{
		{func() { // two loads are no conflict, and a CPU has none with itself
			load(17, 0, 0x100)
			load(18, 1, 0x100)
			store(19, 1, 0x100, 8)
			load(20, 1, 0x100)
		}, "[{f1+0 f1+2}]"},
		{func() { // the load is new as a pair in the other order only; a store hides the one before, and what was loaded
			load(17, 0, 0x104)
			store(19, 1, 0x100, 8)
			load(17, 0, 0x104)
			store(33, 2, 0x104, 4)
			load(17, 0, 0x104)
			load(17, 0, 0x100)
		}, "[{f1+2 f1+0} {f1+2 f2+0} {f1+0 f2+0} {f2+0 f1+0}]"},
		{func() { load(21, 2, 0x100) }, "[]"}, // what a schedule before has stored
		{func() { // Go; one task that goes from CPU to CPU; words beside each other
			store(1, 0, 0x200, 4)
			load(34, 1, 0x1fc)
			x.access(toucher{35, 0, 2}, 0x200, 4, true)
			load(36, 1, 0x204)
		}, "[{kprobes.poke f2+1} {f2+1 f2+2}]"},
		{func() { // a word of which one byte is stored
			store(41, 0, 0x2fd, 4)
			load(42, 1, 0x300)
		}, "[{f2+8 f2+9}]"},
	} {
		tt.do()
		o := Outcome{Pairs: x.take()}
		require.Equal(t, fmt.Sprint(o.Pairs), tt.want, "schedule %d has pairs", i)
		c.add(&o, uint64(i+1))
	}
	c.add(&Outcome{Pairs: []Pair{{"f1+0", "f1+2"}}}, 9) // of another machine
	require.Equal(t, c.Newest, 5, "the last new pair is of schedule")
	var b strings.Builder
	c.writePairs(&b)
	require.Equal(t, b.String(), `6 pairs of accesses to a word by two CPUs, 2 of them in both orders; in one order only
     2  f2, then f2
     1  f1, then f2
     1  kprobes.poke, then f2
`, "the report is")
}

// TestPairsOfAKernel wants a lookup in front of a registration's store and behind it, and names of both.
func TestPairsOfAKernel(t *testing.T) {
	opt := Options{Schedules: 40, Seed: 1, Policy: Random, Coverage: true}
	for _, variant := range []string{"breakpoint", "arm", "ppc64-store"} {
		got, report := coverageOf(t, labOf(t, "optimize", variant, opt), opt)
		orders := map[Pair]bool{}
		for _, p := range got.Coverage.Pairs {
			orders[Pair{function(p.First), function(p.Then)}] = true
		}
		holdReport(t, "pairs-"+variant, report)
		hashed := Pair{"kprobes.hlistReplace", "find_probe"}
		require.That(t, orders[hashed] && orders[Pair{hashed.Then, hashed.First}] && strings.Contains(report, `"first": "kprobes.hlistReplace"`),
			"%s: pairs are %v", variant, got.Coverage.Pairs)
	}
}
