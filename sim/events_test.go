package sim

import (
	"cmp"
	"slices"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestQueueOrder compares the queue with a sorted list over a long random history.
func TestQueueOrder(t *testing.T) {
	type plan struct {
		at clock.Ticks
		n  int // of the push: events for one time happen in this order
		id EventID
	}
	var q Queue
	pushed := 0
	var want []plan
	var got EventID
	seed := uint32(7)
	random := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	for range 5000 {
		switch random(4) {
		case 0, 1:
			var id EventID
			at := clock.Ticks(random(50))
			id = q.Push(at, func() { got = id })
			pushed++
			want = append(want, plan{at, pushed, id})
			slices.SortFunc(want, func(a, b plan) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n))
			})
		case 2:
			if len(want) > 0 {
				i := random(len(want))
				require.Need(t, q.Cancel(want[i].id) && !q.Cancel(want[i].id), "an event is cancelled not once")
				want = slices.Delete(want, i, i+1)
			}
		case 3:
			next, more := q.Next()
			at, f, ok := q.Pop()
			require.Need(t, ok == (len(want) > 0) && more == ok && next == at, "Pop = %d, %v after Next = %d, %v with %d events", at, ok, next, more, len(want))
			if ok {
				if f(); at != want[0].at || got != want[0].id {
					t.Fatalf("event %d at %d, want %v", got, at, want[0])
				}
				want = want[1:]
			}
		}
		require.Need(t, q.Len() == len(want), "%d events, want %d", q.Len(), len(want))
	}
	require.That(t, !q.Cancel(0), "event 0 exists")
}
