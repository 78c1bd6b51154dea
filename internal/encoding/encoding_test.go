package encoding

import (
	"encoding/binary"
	"maps"
	"testing"

	"kprobesim/internal/require"
)

func TestBits(t *testing.T) {
	for _, tt := range []struct {
		drawn       string
		mask, value uint32
		n           int
	}{
		{"", 0, 0, 0},
		{"10x1", 0b1101, 0b1001, 4},
		{"1111 dddd 0000 ssss 0110 nnnn 1xx1 mmmm", 0xf0f0f090, 0xf0006090, 32},
	} {
		mask, value, n := Bits(tt.drawn)
		require.That(t, mask == tt.mask && value == tt.value && n == tt.n, "%q: %#x, %#x, %d bits; want %#x, %#x, %d", tt.drawn, mask, value, n, tt.mask, tt.value, tt.n)
	}
}

// named is a name of a row.
type named string

func (n named) String() string { return string(n) }

// TestUnion has the rows of all groups, and a name in two of them is a mistake of ours.
func TestUnion(t *testing.T) {
	a, b := map[named]int{"x": 1}, map[named]int{"y": 2}
	require.That(t, maps.Equal(Union(a, b), map[named]int{"x": 1, "y": 2}), "%v", Union(a, b))
	defer func() { require.That(t, recover() != nil, "two rows for x are taken") }()
	Union(a, b, a)
}

func TestUint(t *testing.T) {
	const v = 0x0102030405060708
	for n, want := range map[int][2]uint64{1: {0x08, 0x08}, 2: {0x0708, 0x0807}, 4: {0x05060708, 0x08070605}, 8: {v, 0x0807060504030201}} {
		b := make([]byte, n)
		PutUint(binary.BigEndian, b, v)
		big, little := Uint(binary.BigEndian, b), Uint(binary.LittleEndian, b)
		require.That(t, big == want[0] && little == want[1], "%d bytes: %#x and %#x, want %#x", n, big, little, want)
	}
}
