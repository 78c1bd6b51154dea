package smp

import (
	"math"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestTicksOf rounds the guest's time up, and bounds it.
func TestTicksOf(t *testing.T) {
	k := &Kernel{opt: Options{CPUHz: 1e9 + 1}}
	for ns, want := range map[uint64]clock.Ticks{0: 0, 1: 61, 1e9: 60e9 + 60, 153722866973000000: 9223372027603372019, 153722870000000000: math.MaxInt64, 307445734300000000: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		require.Equal(t, k.ticksOf(ns), want, "ticks of %d ns", ns)
	}
	k.opt.CPUHz = 1e9
	require.Equal(t, k.ticksOf(307445734561825861), clock.Ticks(math.MaxInt64), "ticks of the first time that has none")
}
