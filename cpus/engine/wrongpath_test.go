package engine

import (
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// bitsFromMemory follows bits that each lie in another line of memory, 200 cycles away, with a branch over one instruction for each. Half
// of the branches, or none, are mispredicted. It returns the cycles of a round, of six instructions.
func bitsFromMemory(t *testing.T, cfg *cpus.Config, random bool) int64 {
	t.Helper()
	const rounds, apart = 250, 320
	c := newToy(t, cfg, 1<<20, 0xf_0000,
		[4]byte{toyAdd, 1, 0, rounds}, [4]byte{toyLoad, 3, 20, 0}, count(3, 1), [4]byte{toyAdd, 9, 9, 4}, [4]byte{toyAdd, 20, 20, 255}, [4]byte{toyAdd, 20, 20, 65},
		count(1, -6), [4]byte{toyHalt})
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range rounds {
		if bit := byte(rng.IntN(2)); random {
			c.Memory.Write(uint64(i*apart), []byte{1 + bit})
		}
	}
	c.Run(soon)
	return int64(c.Now()/clock.PerCycle) / rounds
}

// TestWrongPath has loads behind a mispredicted branch. On the wrong path ten rounds find a place in a window of 64, and twenty in one of 128.
// When the branch is resolved, the lines of all of these are on their way or there.
func TestWrongPath(t *testing.T) {
	for _, x := range []struct {
		bytes, window int
		random        bool
		want          int64
	}{
		{0, 64, false, 17},
		{64, 64, false, 17},
		{0, 64, true, 91},
		{4, 64, true, 91}, // the branch is over four
		{5, 64, true, 20},
		{256, 64, true, 20},
		{256, 128, true, 16},
		{256, 16, true, 53},
	} {
		cfg := pipedCore()
		cfg.Window = x.window
		cfg.Predictor.Tagged = cpus.TaggedTables{Tables: 4, Bits: 9, TagBits: 11, Shortest: 4, Longest: 40}
		cfg.Prefetch = cpus.Prefetch{InFlight: 16, WrongPath: x.bytes}
		got := bitsFromMemory(t, cfg, x.random)
		require.That(t, got == x.want, "%+v: %d cycles a round", x, got)
	}
}

// TestWrongPaths has several branches. What follows a younger one was on the path of an older one too. The younger one has held that up as
// well, unless it was resolved too late for that.
func TestWrongPaths(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<16, 0x1000)
	c.prefetcher = &prefetcher{}
	w := &c.prefetcher.wrong
	c.rob, c.ev[evMispredict] = 100, 10
	leave := func(from, to ticks) { c.dispatch = to; c.leaveWrongPath(from) }
	at := func(dispatch ticks, count uint64) ticks {
		c.dispatch, c.count = dispatch, count
		return c.early(dispatch)
	}
	leave(1000, 1210) // resolved at 1200
	require.Equal(t, at(1215, 5), 210, "behind the first branch")
	w.arrives, w.load = 1235, 5
	leave(1220, 1250) // its load has its line at 1235, which is too late for the first path
	require.Equal(t, at(1255, 20), 240, "behind the second branch")
	leave(1260, 1280) // resolved at 1270, and at 1030 on the first path
	require.Equal(t, at(1290, 30), 240, "behind the third branch")
	require.Equal(t, at(1439, 30), 240, "the last time on the first path")
	require.Equal(t, at(1440, 30), 0, "all branches were resolved before that")
	leave(2000, 2210)
	require.Equal(t, at(2211, 129), 210, "the last instruction in the window")
	require.Equal(t, at(2211, 130), 0, "the window is full")
	for i := range ticks(40) { // more than are noted, each resolved too late for those before it
		w.arrives, w.load = 1e6, 130
		leave(10_000+100*i, 10_100+100*i)
	}
	require.Equal(t, w.n, len(w.paths), "paths")
	require.Equal(t, at(14_000, 131), 16*100, "the oldest of those that are noted")
}
