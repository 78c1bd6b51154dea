// Package encoding reads encodings of instructions as manuals draw them, and integers of the sizes that machines have.
package encoding

import (
	"encoding/binary"
	"fmt"
)

// Union joins groups of rows by the names of their instructions. A name in two of them is a mistake of ours.
func Union[K interface {
	comparable
	fmt.Stringer
}, R any](groups ...map[K]R) map[K]R {
	all := map[K]R{}
	for _, g := range groups {
		for name, r := range g {
			if _, twice := all[name]; twice {
				panic("encoding: two rows for " + name.String())
			}
			all[name] = r
		}
	}
	return all
}

// Uint reads an integer of 1, 2, 4 or 8 bytes, which are all that b has.
func Uint(order binary.ByteOrder, b []byte) uint64 {
	switch len(b) {
	case 8:
		return order.Uint64(b)
	case 4:
		return uint64(order.Uint32(b))
	case 2:
		return uint64(order.Uint16(b))
	}
	return uint64(b[0])
}

// PutUint writes the low bytes of an integer, as many as b has: 1, 2, 4 or 8.
func PutUint(order binary.ByteOrder, b []byte, v uint64) {
	switch len(b) {
	case 8:
		order.PutUint64(b, v)
	case 4:
		order.PutUint32(b, uint32(v))
	case 2:
		order.PutUint16(b, uint16(v))
	default:
		b[0] = byte(v)
	}
}

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
