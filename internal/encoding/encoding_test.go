package encoding

import "testing"

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
		if mask, value, n := Bits(tt.drawn); mask != tt.mask || value != tt.value || n != tt.n {
			t.Errorf("%q: %#x, %#x, %d bits; want %#x, %#x, %d", tt.drawn, mask, value, n, tt.mask, tt.value, tt.n)
		}
	}
}
