package native

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kprobesim/internal/require"
)

// TestChainsAreCycles follows the links of chains, and finds each place once. One with data has those.
func TestChainsAreCycles(t *testing.T) {
	for _, c := range []Chain{{Size: 1 << 14, Step: 64}, {Size: 1 << 18, Step: 4096, Skew: 8, Seed: 3}, {Size: 64, Step: 64}} {
		c.At = 0x4000_0000
		memory, at, n := make([]byte, c.Size), uint64(0), uint64(0)
		c.Lay(memory)
		for n == 0 || at != 0 {
			at = binary.LittleEndian.Uint64(memory[at:]) - c.At
			require.Equal(t, at%c.Step, at/c.Step*c.Skew%c.Step, "how far place %#x is in its step", at)
			if n++; n > c.Size/c.Step {
				break
			}
		}
		require.Equal(t, n, c.Size/c.Step, "places of %+v", c)
		other := bytes.Clone(memory)
		c.Seed++
		c.Lay(other)
		require.Equal(t, bytes.Equal(memory, other), n == 1, "whether another seed has the same order")
		c.Data = []byte{1, 2, 3}
		c.Lay(other)
		require.That(t, bytes.Equal(other[:3], c.Data) && !bytes.Equal(other, memory[:len(other)]), "data %x", other[:4])
	}
}

// TestRoom rounds up what large pages take.
func TestRoom(t *testing.T) {
	for size, large := range map[uint64]uint64{0: 0, 1: LargePage, LargePage - 1: LargePage, LargePage: LargePage, LargePage + 1: 2 * LargePage, 5 * LargePage: 5 * LargePage} {
		c := Chain{Size: size}
		require.Equal(t, c.Room(), size, "the room of %d bytes", size)
		c.Large = true
		require.Equal(t, c.Room(), large, "the room of %d bytes in large pages", size)
	}
}
