package engine

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/draw"
	"kprobesim/internal/require"
)

// What a predictor is filled with depends on the stream and the CPU; the tables keep their sizes, and
// counters and history their ranges.
func TestRecall(t *testing.T) {
	made := func(key draw.Key, cpu int) *predictor {
		p := new(predictor)
		p.init(cpus.PredictorConfig{HistoryBits: 8, TableBits: 10, TargetEntries: 64, ReturnStack: 4}, 0)
		if key != 0 {
			p.recall(key.Sequence(cpu))
		}
		return p
	}
	empty, a := made(0, 0), made(1, 0)
	require.That(t, !slices.Equal(empty.counters, a.counters) && slices.Equal(a.counters, made(1, 0).counters), "a filled predictor is as an empty one, or not the same twice")
	require.That(t, !slices.Equal(a.counters, made(1, 1).counters) && !slices.Equal(a.counters, made(2, 0).counters), "two CPUs or two streams fill predictors alike")
	var count [4]int
	for _, v := range a.counters {
		count[v]++
	}
	require.That(t, len(a.counters) == 1<<10 && slices.Min(count[:]) >= 200 && a.history <= a.histMask, "%d counters by value, %v; history %#x", len(a.counters), count, a.history)
	// A branch that is always taken is learned from any state.
	c := Core{AddrMask: ^uint64(0)}
	c.predictor = *a
	for range 41 {
		c.R[PC], c.outcome = 0x40, 0
		c.Conditional(true, 0x10)
	}
	require.That(t, c.outcome == taken && c.R[PC] == 0x50 && c.Counts.Branches == 41, "a branch that was taken 40 times is predicted not taken")
}

// TestPlacesOfBranches has as many branches in a row as a table has entries: each has one of its own, by the bits of its address that say something.
func TestPlacesOfBranches(t *testing.T) {
	const entries = 64
	for align := range uint8(5) {
		c := Core{AddrMask: ^uint64(0)}
		c.predictor.init(cpus.PredictorConfig{TableBits: 6, TargetEntries: entries, ReturnStack: 4}, align)
		for pass := range uint64(4) {
			for i := range uint64(entries) {
				at := i<<align + pass&(1<<align-1)
				require.That(t, c.target(at, 0x1000+i) == (pass == 0), "aligned by %d, pass %d: target %d is predicted wrong or right", align, pass, i)
				c.R[PC], c.outcome = at, 0
				c.Conditional(i%3 == 0, 0x10)
				require.That(t, pass == 0 || c.outcome&mispredicted == 0, "aligned by %d, pass %d: direction %d is predicted wrong", align, pass, i)
			}
		}
	}
}

// TestTargetHistory takes two targets by turns. A history with the targets before tells which one comes next, and one of
// directions alone does where a branch before says so.
func TestTargetHistory(t *testing.T) {
	for _, c := range []struct {
		byDirections, says bool
		wrong              int
	}{{false, false, 0}, {true, false, 50}, {true, true, 0}} {
		p := new(predictor)
		p.init(cpus.PredictorConfig{HistoryBits: 8, TableBits: 10, TargetEntries: 256, ReturnStack: 4, TargetsByDirections: c.byDirections}, 0)
		wrong := 0
		for i := range 100 {
			if c.says {
				p.history = (p.history<<1 | uint32(i&1)) & p.histMask
			}
			if p.target(0x40, 0x100+uint64(i&1)<<6) && i >= 50 {
				wrong++
			}
		}
		require.That(t, wrong == c.wrong, "%+v: %d of 50 are wrong", c, wrong)
	}
}
