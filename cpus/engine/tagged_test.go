package engine

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// wrongOnes counts wrong predictions of the last quarter of branches, whose directions are by number.
func wrongOnes(pc cpus.PredictorConfig, n int, taken func(i int) (at uint64, taken bool)) int {
	c := Core{AddrMask: ^uint64(0)}
	c.predictor.init(pc, 0)
	for i := range n {
		at, way := taken(i)
		if i == n*3/4 {
			c.Counts.Mispredicts = 0
		}
		c.R[PC], c.outcome = at, 0
		c.Conditional(way, 0x10)
	}
	return int(c.Counts.Mispredicts)
}

// TestTaggedTables has loops and branches that follow an older one predicted as far as a history reaches.
func TestTaggedTables(t *testing.T) {
	short := cpus.PredictorConfig{HistoryBits: 8, TableBits: 12, TargetEntries: 16, ReturnStack: 4}
	tage := short
	tage.Tagged = cpus.TaggedTables{Tables: 6, Bits: 9, TagBits: 11, Shortest: 4, Longest: 100}
	ends := func(every int) func(i int) (uint64, bool) {
		return func(i int) (uint64, bool) { return 0x40, i%every != every-1 }
	}
	x, past := uint32(1), make([]bool, 0, 1<<16)
	random := func(i int) (uint64, bool) {
		x = x>>1 ^ -(x&1)&0xd0000001
		past = append(past, x&1 != 0)
		return 0x80, past[i]
	}
	follows := func(back int) func(i int) (uint64, bool) { // every fourth branch repeats what the one so far before was
		past = past[:0]
		return func(i int) (uint64, bool) {
			if _, way := random(i); i%4 != 3 || i < back {
				return 0x100 + uint64(i%4)*8, way && i%4 == (3-back)&3
			}
			past[i] = past[i-back]
			return 0x118, past[i]
		}
	}
	const n = 40000
	for _, c := range []struct {
		name          string
		next          func(i int) (uint64, bool)
		short, tagged [2]int // of 10,000 branches
	}{
		{"a loop of 7", ends(7), [2]int{0, 0}, [2]int{0, 0}},
		{"a loop of 25", ends(25), [2]int{400, 400}, [2]int{0, 0}},
		{"a loop of 90", ends(90), [2]int{111, 112}, [2]int{0, 0}},
		{"a loop of 150", ends(150), [2]int{66, 67}, [2]int{50, 80}},
		{"no rule", random, [2]int{4700, 5300}, [2]int{4500, 5300}},
	} {
		x, past = 1, past[:0]
		got := wrongOnes(short, n, c.next)
		require.That(t, got >= c.short[0] && got <= c.short[1], "%s: %d wrong without tagged tables, want %d", c.name, got, c.short)
		x, past = 1, past[:0]
		got = wrongOnes(tage, n, c.next)
		require.That(t, got >= c.tagged[0] && got <= c.tagged[1], "%s: %d wrong with them, want %d", c.name, got, c.tagged)
	}
	const back = 13
	x = 1
	gshare := wrongOnes(short, n, follows(back))
	x = 1
	if tagged := wrongOnes(tage, n, follows(back)); gshare < 2300 || tagged > 1600 {
		t.Errorf("branches that repeat the one %d before: %d wrong, with tagged tables %d", back, gshare, tagged)
	}
}

// TestGeometricHistories compares lengths with a series that was worked out by hand.
func TestGeometricHistories(t *testing.T) {
	for _, c := range []struct {
		tables, shortest, longest int
		want                      []uint32
	}{
		{4, 5, 130, []uint32{5, 14, 43, 130}},
		{7, 5, 130, []uint32{5, 8, 14, 25, 43, 75, 130}},
		{1, 5, 130, []uint32{130}},
	} {
		shape := cpus.TaggedTables{Tables: c.tables, Bits: 4, TagBits: 4, Shortest: c.shortest, Longest: c.longest}
		got := newTagged(shape).lengths
		require.That(t, slices.Equal(got, c.want), "%d tables: %v, want %v", c.tables, got, c.want)
	}
}

// TestFoldedHistories folds the whole history anew.
func TestFoldedHistories(t *testing.T) {
	g := newTagged(cpus.TaggedTables{Tables: 5, Bits: 7, TagBits: 9, Shortest: 3, Longest: 200})
	var past []uint32
	x := uint32(7)
	for range 900 {
		x = x>>1 ^ -(x&1)&0xd0000001
		g.push(x&1 != 0)
		past = append(past, x&1)
	}
	for i, n := range g.lengths {
		for width, got := range map[uint32]uint32{7: g.folds[i].index, 9: g.folds[i].tag, 8: g.folds[i].other} {
			want := uint32(0)
			for age := range n {
				want ^= past[len(past)-1-int(age)] << (age % width)
			}
			if got != want {
				t.Errorf("a history of %d folded to %d bits is %#x, want %#x", n, width, got, want)
			}
		}
	}
}

// TestUsefulEntriesAge: where all entries that a branch may have are of use, none is taken, and each becomes less useful.
func TestUsefulEntriesAge(t *testing.T) {
	const pc = 0x40
	g := newTagged(cpus.TaggedTables{Tables: 3, Bits: 4, TagBits: 8, Shortest: 4, Longest: 16})
	for i := range g.entries {
		g.entries[i].useful = 1
	}
	g.allocate(0, pc, true)
	for i := range g.lengths {
		e, _ := g.entry(i, pc)
		require.That(t, e.useful == 0 && e.tag == 0, "table %d: %+v", i, *e)
	}
}

// TestOverride has branches that follow a pattern, and targets by turns. All are predicted, but what predicts first has two bits for each
// branch and its last target: where it is wrong, the front end loses some cycles.
func TestOverride(t *testing.T) {
	pc := cpus.PredictorConfig{HistoryBits: 16, TableBits: 10, TargetEntries: 1 << 10, ReturnStack: 4}
	pc.Tagged = cpus.TaggedTables{Tables: 4, Bits: 9, TagBits: 11, Shortest: 4, Longest: 40, Override: 1}
	for _, x := range []struct {
		pattern string
		late    int // of 16 branches
	}{{"0", 0}, {"1", 0}, {"01", 8}, {"0011", 12}, {"0111", 4}, {"00000001", 2}, {"0000111100001111", 8}} {
		c := Core{AddrMask: ^uint64(0)}
		c.predictor.init(pc, 0)
		late, targets := 0, 0
		for i := range 4016 {
			c.R[PC], c.outcome = 0x40, 0
			bit := x.pattern[i%len(x.pattern)]
			c.Conditional(bit == '1', 0x10)
			if i >= 4000 {
				require.That(t, c.outcome&mispredicted == 0, "%s: branch %d is mispredicted", x.pattern, i)
				late += int(c.outcome & overrode / overrode)
			}
			c.R[PC], c.outcome = 0x80, 0
			c.Indirect(0x1000 + uint64(bit)<<8)
			if i >= 4000 {
				require.That(t, c.outcome&mispredicted == 0, "%s: target %d is mispredicted", x.pattern, i)
				targets += int(c.outcome & overrode / overrode)
			}
		}
		changes := 0
		for i := range 16 {
			if x.pattern[i%len(x.pattern)] != x.pattern[(i+1)%len(x.pattern)] {
				changes++
			}
		}
		require.That(t, late == x.late && targets == changes, "%s: %d of 16 branches and %d targets are late, want %d and %d", x.pattern, late, targets, x.late, changes)
	}
	// An inner loop of two rounds: its branch is taken by turns, and two bits that begin in between are wrong each time. At first all is mispredicted.
	cycles := func(override int64) int64 {
		const rounds = 200
		cfg := pipedCore()
		cfg.Predictor.Tagged = cpus.TaggedTables{Tables: 4, Bits: 9, TagBits: 11, Shortest: 4, Longest: 40, Override: clock.Ticks(override) * clock.PerCycle}
		x := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyAdd, 1, 0, rounds}, [4]byte{toyAdd, 2, 0, 2}, count(2, -1), count(1, -3), [4]byte{toyHalt})
		x.Run(soon)
		return int64(x.Now()/clock.PerCycle) / rounds
	}
	lost := cycles(40) - cycles(0)
	require.That(t, lost > 70 && lost <= 80, "a round loses %d cycles, want nearly 80", lost)
}
