package arm

import (
	"strings"
	"testing"

	"kprobesim/internal/armtext"
	"kprobesim/internal/require"
)

// TestUnreserved leaves the reservation out of loads and stores with all registers, and anything else undone.
func TestUnreserved(t *testing.T) {
	text := func(code []byte) string { return strings.ToLower(require.Must(armtext.Decode(code))(t).String()) }
	for rn := range word(13) {
		for rt := range word(13) {
			load, store := bytesOf(0xe1900f9f|rn<<16|rt<<12), bytesOf(0xe1800f90|rn<<16|11<<12|rt)
			require.Equal(t, text(unreserved(load)), strings.Replace(text(load), "ldrex", "ldr", 1), "")
			require.Equal(t, text(unreserved(store)), strings.Replace(text(store), "strex r11, ", "str ", 1), "")
		}
	}
	require.Equal(t, text(unreserved(bytesOf(0x1a000001))), "nop", "the branch behind it")
}
