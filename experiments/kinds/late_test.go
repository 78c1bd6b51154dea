package kinds

import (
	"slices"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestLate has three interrupts come at any of five times. They are late by what is beyond the earliest, and one that comes a
// period behind the first is refused: another one was due meanwhile.
func TestLate(t *testing.T) {
	times := []clock.Ticks{0, 4, 9, 10, 14}
	for n := range 125 {
		w := &irqWatch{period: 10, taken: []clock.Ticks{times[n%5], times[n/5%5], times[n/25]}}
		got, err := w.late()
		if most := slices.Max(w.taken); most-w.taken[0] >= w.period {
			require.That(t, err != nil, "%v: no error", w.taken)
			continue
		}
		require.NoError(t, err)
		want, least := slices.Sorted(slices.Values(w.taken)), slices.Min(w.taken)
		for i := range want {
			require.That(t, got[i] == want[i]-least, "%v: %v", w.taken, got)
		}
	}
}
