package ppc64

import (
	"encoding/binary"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/internal/require"
)

// TestUnreserved leaves the reservation out of loads and stores with all registers, and anything else undone.
func TestUnreserved(t *testing.T) {
	for operands := uint32(0); operands < 1<<26; operands += 0x21 << 11 {
		for op, want := range map[uint32]ppc64asm.Op{20 << 1: ppc64asm.LWZX, 150<<1 | 1: ppc64asm.STWX} {
			was := decoded(31<<26 | operands | op)
			in, err := ppc64asm.Decode(unreserved(bytesOf(31<<26|operands|op)), binary.BigEndian)
			require.That(t, err == nil && in.Op == want && [3]ppc64asm.Arg(in.Args[:3]) == [3]ppc64asm.Arg(was.Args[:3]), "%s became %s", was, in)
		}
	}
	in, _ := ppc64asm.Decode(unreserved(bytesOf(0x40820004)), binary.BigEndian)
	require.Equal(t, in.String(), "nop", "the branch behind it")
}

// TestSystemCall knows sc by its opcode.
func TestSystemCall(t *testing.T) {
	for op := range uint32(64) {
		require.Equal(t, systemCall(bytesOf(op<<26|2)), decoded(op<<26|2).Op == ppc64asm.SC, "%08x", op<<26|2)
	}
}
