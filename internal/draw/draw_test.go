package draw

import (
	"testing"

	"kprobesim/internal/require"
)

// Streams differ by seed, replicate and name, and are the same numbers on every host.
func TestStreams(t *testing.T) {
	seen := map[uint64]string{}
	for _, k := range []struct {
		seed      uint64
		replicate int
		name      string
	}{{0, 1, "stack"}, {1, 0, "stack"}, {1, 1, "stack"}, {0, 1, "heap"}, {0, 11, "stack"}, {1, 1, "1/stack"}} {
		key := NewKey(k.seed, k.replicate, k.name)
		for part := range 2 {
			v := key.Sequence(part).Uint64()
			name := k.name
			before, twice := seen[v]
			require.That(t, !twice, "%d/%d/%s part %d begins as %s does", k.seed, k.replicate, name, part, before)
			seen[v] = name
		}
	}
	key := NewKey(0, 1, "stack")
	got, want := key, Key(0x7f1821911fa26c1f)
	require.That(t, got == want, "key %#x, want %#x", uint64(got), uint64(want))
	a, b := key.Below(1<<63), key.Sequence(0).Uint64()%(1<<63)
	require.That(t, a == b, "Below %d, the first of the sequence %d", a, b)
}

// Below keeps its bound.
func TestBelow(t *testing.T) {
	var hit [5]int
	for i := range 1000 {
		hit[NewKey(7, i, "x").Below(5)]++
	}
	for v, n := range hit {
		require.That(t, n >= 150 && n <= 250, "%d came %d times in 1000 of 5", v, n)
	}
}
