package reports

import (
	"errors"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// A percentile is the smallest time that at least a share of the calls does not exceed, for any number of calls.
func TestPercentilesOfCalls(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 10, 50, 99, 100, 101, 999, 1000, 1001, 2500} {
		sorted := make([]clock.Ticks, n)
		for i := range sorted {
			sorted[i] = clock.FromCycles(int64(i) + 1)
		}
		w := &recorder{}
		w.calls(sorted)
		require.Need(t, w.err == nil && len(w.out) == len(results.CallShares()), "%d calls: %d records, %v", n, len(w.out), w.err)
		for k, share := range results.CallShares() {
			want := 1
			for want*1000 < n*share {
				want++
			}
			got := w.out[k]
			require.That(t, got.Metric == results.CallMetric(share) && got.Value.Float() == float64(want) && got.Unit == "cycles", "%d of 1000 of %d calls: %s, want call %d", share, n, got, want)
		}
	}
	w := &recorder{}
	if w.calls(nil); len(w.out) != 0 || w.err != nil {
		t.Errorf("no call: %v, %v", w.out, w.err)
	}
}

// The first error of a record stays.
func TestFirstErrorStays(t *testing.T) {
	w := &recorder{}
	for _, text := range []string{"first", "second"} {
		w.add("cycles", "cycles", results.Value{}, errors.New(text))
	}
	require.Error(t, w.err, "cycles: first", "after two errors")
}
