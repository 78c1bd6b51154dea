package hostcode

import (
	"testing"
	"unsafe"

	"kprobesim/internal/require"
)

// TestPrefetch asks for addresses that exist and for ones that do not: nothing happens.
func TestPrefetch(t *testing.T) {
	b := make([]byte, 1<<13)
	for i := range b {
		Prefetch(unsafe.Pointer(&b[i]))
	}
	Prefetch(nil)
	for _, v := range b {
		require.Need(t, v == 0, "a byte has changed")
	}
}
