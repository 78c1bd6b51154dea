package judging

import (
	"math"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestRatesOfLines prices loops that nothing bounds but how often a level hands over a line, and a chain of lines that waits for none of
// those that prefetchers have sent for.
func TestRatesOfLines(t *testing.T) {
	c, third := machine(t, "epyc-9654"), uint64(8*mib)
	c.PerStored[0], c.PerStored[1] = 5*clock.PerCycle, 9*clock.PerCycle
	stored := func(level int) float64 { return float64(c.PerStored[level]) / float64(clock.PerCycle) }
	chain := one(func(m *caser) { m.add(kindChase, "a chain", Chase(1, 50, laps(third, 50)), lines(third)) })
	part := lines(third / 4)
	four := one(func(m *caser) {
		m.add(kindParallel, "four chains", Chase(4, 20, laps(third, 20)), part, part, part, part)
	})
	for _, x := range []struct {
		loop *Case
		want float64
	}{
		{Stores(128*kib, 1), stored(0)},
		{Stores(third, 1), stored(1)},
		{chain, float64(c.L3.Latency) / float64(clock.PerCycle)},
		{four, float64(c.L3.Latency) / float64(clock.PerCycle)}, // they begin one behind the other, and then none waits
	} {
		got := require.Must(NewPricer(c).Price(x.loop))(t)
		require.That(t, math.Abs(got/x.want-1) < 0.02, "%s: %.2f cycles, want %.2f", x.loop.Text, got, x.want)
	}
}

// TestRepeatedStores fills 64 KiB by strings of 4 KiB, each of whose lines waits for the second level.
func TestRepeatedStores(t *testing.T) {
	c := machine(t, "epyc-9654")
	l := Loop{Each: LoadPointer(7, 0), Body: Hex("b900020000" + "f348ab"), Copies: 16, Times: 8} // mov $512,%ecx; rep stosq
	fills := one(func(m *caser) { m.add(kindStream, "strings", l, plain(64*kib)) })
	got := require.Must(NewPricer(c).Price(fills))(t)
	least := pageSize / line * float64(c.L2.Latency-c.L1D.Latency) / float64(clock.PerCycle)
	require.That(t, got > least && got < 4*least, "4 KiB take %.0f cycles, and their lines %.0f", got, least)
}

// TestStrings prices repeated instructions by their start and their bytes. Few single bytes that are copied begin quicker there.
func TestStrings(t *testing.T) {
	c := machine(t, "epyc-9654")
	cycles := func(class string) float64 { return float64(c.Classes[class].Issue) / float64(clock.PerCycle) }
	load := float64(c.Events["load_use"]) / float64(clock.PerCycle)
	for _, x := range []struct {
		loop  *Case
		start string
		line  string
		bytes float64
		more  float64
	}{
		{Copies(64), "rep_movs_short", "rep_movs_line", 64, load},
		{Copies(256), "rep_movs", "rep_movs_line", 256, load},
		{Copies(8 * kib), "rep_movs", "rep_movs_line", 8 * kib, load},
		{Fills(64), "rep_stos", "rep_stos_line", 64, 0},
		{Fills(8 * kib), "rep_stos", "rep_stos_line", 8 * kib, 0},
	} {
		want := cycles(x.start) + x.bytes/line*cycles(x.line) + x.more
		got := require.Must(NewPricer(c).Price(x.loop))(t)
		require.That(t, got > want && got < want+4, "%s: %.2f cycles; start, bytes and load %.2f", x.loop.Text, got, want)
	}
}
