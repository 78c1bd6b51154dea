package sim

import (
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// lowest is find as it is described: every place is tried.
func lowest(h *heap, from, size, align uint64) (uint64, bool) {
	for at := (from + align - 1) &^ (align - 1); at+size <= h.hi; at += align {
		free := true
		for _, b := range h.used {
			free = free && (b.hi <= at || at+size <= b.lo)
		}
		if free {
			return at, true
		}
	}
	return 0, false
}

// TestHeapFindsTheLowestPlace hands out and takes back at random, with drawn pages and without.
func TestHeapFindsTheLowestPlace(t *testing.T) {
	full := false
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := &Machine{mem: mmu.NewMemory(1 << 20), heap: newHeap(0x40000, 0x50000, 0x1000000, Layout{})}
		h := &m.heap
		if seed%2 != 0 {
			h.pages, h.offset = rand.NewPCG(seed, 2), 0x40
		}
		for range 600 {
			if rng.IntN(3) == 0 && len(h.used) > 0 {
				b := h.used[rng.IntN(len(h.used))]
				require.NoError(t, m.Free(h.base+b.lo))
				require.Need(t, m.Free(h.base+b.lo) != nil, "freed twice")
				continue
			}
			size, align := []uint64{16, 40, 256, 900, 4096}[rng.IntN(5)], uint64(16)<<rng.IntN(5)
			from := h.begin()
			if size >= pageBytes {
				if h.pages != nil {
					continue // where the search begins is drawn anew
				}
				from = h.lo
			}
			want, ok := lowest(h, from, size, align)
			if !ok {
				want, ok = lowest(h, h.lo, size, align)
			}
			full = full || !ok
			if got, err := m.Alloc(size, align); (err == nil) != ok || ok && got != h.base+want {
				t.Fatalf("seed %d: %d bytes aligned to %d at %#x (%v), want %#x (%v)", seed, size, align, got, err, h.base+want, ok)
			}
		}
	}
	require.That(t, full, "the heap was never full")
}
