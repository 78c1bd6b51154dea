package ppc64

import "encoding/binary"

// systemCall knows sc.
func systemCall(code []byte) bool {
	const primary, sc = 26, 17
	return binary.BigEndian.Uint32(code)>>primary == sc
}
