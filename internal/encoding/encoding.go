// Package encoding reads encodings of instructions as manuals draw them.
package encoding

// Bits reads an encoding, its most significant bit first: 0 and 1 are fixed, any other letter is a bit of a field, and
// spaces mean nothing. An encoding of fewer than 32 bits stands in the low bits of a word. It returns the fixed bits,
// their values, and how many bits were drawn.
func Bits(drawn string) (mask, value uint32, n int) {
	for _, b := range drawn {
		if b == ' ' {
			continue
		}
		n++
		mask, value = mask<<1, value<<1
		if b == '0' || b == '1' {
			mask |= 1
			value |= uint32(b - '0')
		}
	}
	return mask, value, n
}
