//go:build unix && !solaris && !aix && !illumos

package kinds_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
)

// TestRAMIsNotOfTheHeap measures a point: the runtime is asked for less than the RAM of the guest, most of which is
// never touched. A heap would clear all of it for every point. At the end the process has its addresses back.
func TestRAMIsNotOfTheHeap(t *testing.T) {
	pt := exptest.PointOf(t, exptest.E5410, "k", "workload.hits=20", "workload.warmup=8", "kernel.memory=256 MiB")
	var before, after runtime.MemStats
	had := addresses(t)
	runtime.ReadMemStats(&before)
	require.NoError(t, require.Err(kinds.Measure(pt)))
	runtime.ReadMemStats(&after)
	asked := after.TotalAlloc - before.TotalAlloc
	require.That(t, asked <= uint64(pt.Kernel.Memory)/8, "a measurement asked for %d bytes of the heap, and the guest has %d of RAM", asked, pt.Kernel.Memory)
	t.Logf("%d bytes", asked)
	keeps := addresses(t) - had
	require.That(t, keeps < pt.Kernel.Memory/2, "a measurement keeps %d bytes of addresses, and the guest had %d of RAM", keeps, pt.Kernel.Memory)
}

// addresses is how many bytes of addresses the process has; 0 where the host does not say it.
func addresses(t *testing.T) (pages int64) {
	t.Helper()
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		require.NoError(t, require.Err(fmt.Sscan(string(b), &pages)))
	}
	return pages * int64(os.Getpagesize())
}
