package kprobes

import (
	"testing"

	"kprobesim/internal/require"
)

// A pool hands out each slot once, from the one that the layout names and round; a slot that was given back
// comes first again.
func TestPool(t *testing.T) {
	const start, size, n = 0x1000, 16, 4
	for over, first := range map[uint64]uint64{0: 0, 3: 3, 5: 1, 1<<32 - 1: 3} {
		p := newPool(Span{Start: start, End: start + n*size}, size, over, nil)
		for i := range uint64(n) {
			at, ok := p.take()
			want := start + (first+i)%n*size
			require.That(t, ok && at == want, "over %d: slot %d is at %#x, want %#x", over, i, at, want)
		}
		at, ok := p.take()
		require.That(t, !ok, "over %d: a full pool gave %#x", over, at)
		last := start + (first+n-1)%n*size
		p.give(last)
		at, ok = p.take()
		require.That(t, ok && at == last, "over %d: %#x was given back, and %#x comes", over, last, at)
	}
	_, ok := (&pool{}).take()
	require.That(t, !ok, "an empty pool has a slot")
}
