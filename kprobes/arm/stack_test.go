package arm

import (
	"testing"

	"kprobesim/internal/require"
)

// TestBelow stores one by one what an instruction stores, and wants the lowest place to be known: of blocks of each direction, and of
// words, bytes, halfwords and pairs. A register may lead anywhere. A load, and another base, count for nothing.
func TestBelow(t *testing.T) {
	const stores, base = 0xe0000000, sp << 16
	for mode := range word(8) { // before, up, and written back: the latter changes nothing
		before, up, written := mode&1, mode>>1&1, mode>>2
		bits := before<<24 | up<<23 | written<<21
		step := map[word]int{0: -1, 1: 1}[up]
		for _, list := range []word{1, 0x4010, 0x00ff, 0x5fff} {
			at, lowest := 0, 0
			for r := range 16 {
				if list>>r&1 == 0 {
					continue
				}
				if before == 1 {
					at += 4 * step
				}
				lowest = min(lowest, at)
				if before == 0 {
					at += 4 * step
				}
			}
			holdBelow(t, stores|8<<24|base|bits|list, -lowest)
		}
		for _, distance := range []word{0, 4, 0x40, 0xfc} {
			lowest := max(-step*int(distance), 0)
			if before == 0 {
				lowest = 0
			}
			halves := distance>>4<<8 | distance&15
			for _, w := range []word{4<<24 | distance, 4<<24 | 1<<22 | distance, 1<<22 | 0xb0 | halves, 1<<22 | 0xf0 | halves} {
				holdBelow(t, stores|base|bits|w, lowest)
			}
		}
		anywhere := map[word]int{0: 0, 1: unknown}[before]
		for _, w := range []word{6<<24 | 3, 0xb3, 0xf2} {
			holdBelow(t, stores|base|bits|w, anywhere)
		}
	}
}

// holdBelow wants a store to reach a distance below the stack pointer, and neither the load nor the store from another base does.
func holdBelow(t *testing.T, w word, want int) {
	t.Helper()
	if find(w) == nil {
		return // there is none that writes back so
	}
	require.Equal(t, w.below(), want, "%08x reaches below the stack pointer by", w)
	require.Equal(t, (w | 1<<20).below(), 0, "%08x, the load", w|1<<20)
	require.Equal(t, (w &^ (1 << 16)).below(), 0, "%08x, with another base", w)
}
