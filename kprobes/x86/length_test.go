package x86

import (
	"bytes"
	"testing"

	"kprobesim/internal/require"
)

// TestLongestInstruction decodes what has 15 bytes with its prefixes, and nothing longer (SDM, volume 2, 2.3.11).
func TestLongestInstruction(t *testing.T) {
	for prefixes, want := range map[int]bool{13: true, 14: true, 15: false, 20: false} {
		code := append(bytes.Repeat([]byte{0x66}, prefixes), 0x90, 0x90, 0x90)
		in, err := decode(code, 0x1000, 64)
		require.That(t, (err == nil) == want && (err != nil || len(in.Code) == prefixes+1), "%d prefixes: % x, %v", prefixes, in.Code, err)
	}
}
