package encoding

import (
	"encoding/binary"
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

func TestUint(t *testing.T) {
	const v = 0x0102030405060708
	for n, want := range map[int][2]uint64{1: {0x08, 0x08}, 2: {0x0708, 0x0807}, 4: {0x05060708, 0x08070605}, 8: {v, 0x0807060504030201}} {
		b := make([]byte, n)
		PutUint(binary.BigEndian, b, v)
		big, little := Uint(binary.BigEndian, b), Uint(binary.LittleEndian, b)
		require.That(t, big == want[0] && little == want[1], "%d bytes: %#x and %#x, want %#x", n, big, little, want)
	}
}
