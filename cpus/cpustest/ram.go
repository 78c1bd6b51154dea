package cpustest

import (
	"testing"

	"kprobesim/internal/host"
	"kprobesim/mmu"
)

// RAM hands out memory for the machines of a test, until its end. A machine whose memory is of the heap costs a test tens of
// megabytes to clear, and touches few of them.
func RAM(tb testing.TB) func(size int) []byte {
	tb.Helper()
	var pages host.Pages
	tb.Cleanup(func() {
		if err := pages.Free(); err != nil {
			tb.Error(err)
		}
	})
	return pages.Zeroed
}

// Memory is the memory of a CPU of a test, with so many bytes of RAM.
func Memory(tb testing.TB, size int) *mmu.Memory {
	tb.Helper()
	return mmu.NewMemoryOf(RAM(tb), size)
}
