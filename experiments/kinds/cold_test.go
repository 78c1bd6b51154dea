package kinds_test

import (
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// TestColdHit wants a run of one hit without warm-up to be the cold hit, the one that other runs report as
// their first, and one of several hits to contain it.
func TestColdHit(t *testing.T) {
	exptest.Alone(t)
	measured := func(sets ...string) (m *kinds.Measurement, over int64) {
		t.Helper()
		m = require.Must(kinds.Measure(exptest.PointOf(t, exptest.E5410, "k", sets...)))(t)
		return m, int64(m.Probed.Sub(m.Base).Time)
	}
	warm, over := measured("workload.hits=1", "workload.warmup=1")
	cold, one := measured("workload.hits=1", "workload.warmup=0")
	many, ten := measured("workload.hits=10", "workload.warmup=0")
	// What comes behind a hit overlaps with it, by a few cycles more or less.
	if want := int64(warm.First.Sub(warm.Single).Time); one < want*99/100 || one > want*101/100 {
		t.Errorf("one hit without warm-up takes %d ticks, a first hit %d", one, want)
	}
	require.That(t, one >= 3*over, "a cold hit takes %d ticks, a warm one %d", one, over)
	if first := int64(many.First.Sub(many.Single).Time); first < 3*over || ten < first+8*over || ten > first+10*over {
		t.Errorf("ten hits from a cold one take %d ticks, the cold one %d, a warm one %d", ten, first, over)
	}
	require.That(t, cold.Base.Instructions == cold.Single.Instructions, "a call without the probe has %d instructions, and another one %d", cold.Base.Instructions, cold.Single.Instructions)
	require.That(t, len(cold.Notes) == 1 && strings.Contains(cold.Notes[0], "cold"), "the table says nothing of the cold hit: %q", cold.Notes)
}

// TestWarmKinds refuses to measure without a warm-up what has no cold hit.
func TestWarmKinds(t *testing.T) {
	for _, name := range []string{schema.KindIRQOff, schema.KindScaling} {
		require.Error(t, require.Err(planning.NewLoader().Plan(name, []string{"workload.warmup=0"})), "measures warm hits", "%s without a warm-up", name)
	}
}

// TestWholeCalls wants the calls and the loop in what a hit takes where an experiment asks for whole calls.
func TestWholeCalls(t *testing.T) {
	exptest.Alone(t)
	over := func(sets ...string) (o, base kinds.Sample) {
		t.Helper()
		m := require.Must(kinds.Measure(exptest.PointOf(t, exptest.E5410, "k", append(sets, "workload.hits=10")...)))(t)
		return m.Over(), m.Base
	}
	part, base := over()
	whole, _ := over("workload.loop_included=true")
	if sum := part.Add(base); whole.Time != sum.Time || whole.Instructions != sum.Instructions || base.Time <= 0 {
		t.Errorf("whole calls take %v, hits %v and the calls %v", whole, part, base)
	}
}
