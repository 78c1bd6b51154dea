package hostcode

import (
	"testing"
	"unsafe"
)

// TestPrefetch asks for addresses that exist and for ones that do not: nothing happens.
func TestPrefetch(t *testing.T) {
	b := make([]byte, 1<<13)
	for i := range b {
		Prefetch(unsafe.Pointer(&b[i]))
	}
	Prefetch(nil)
	for _, v := range b {
		if v != 0 {
			t.Fatal("a byte has changed")
		}
	}
}
