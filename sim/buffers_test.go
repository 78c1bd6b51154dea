package sim

import (
	"strings"
	"testing"

	"kprobesim/cpus"
)

// TestBuffersAreForSearches refuses store buffers of machines that take turns by time, and of instruction sets that have none.
func TestBuffersAreForSearches(t *testing.T) {
	any := policy(func(*Machine, []int) (int, int) { return 0, 1 })
	for _, cfg := range []Config{
		{ISA: &cpus.ISA{StoresWait: true}, Buffers: &Buffers{}},
		{ISA: &cpus.ISA{Name: "none"}, Buffers: &Buffers{}, Policy: any},
	} {
		if err := (&Machine{cfg: cfg}).bufferStores(); err == nil || !strings.Contains(err.Error(), "wait in no buffers") {
			t.Errorf("%+v: %v", cfg.ISA, err)
		}
	}
}
