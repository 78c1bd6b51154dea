//go:build unix && !solaris && !aix && !illumos

package kinds_test

import (
	"runtime"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/internal/require"
)

// TestRAMIsNotOfTheHeap measures a point: the runtime is asked for less than the RAM of the guest, most of which is
// never touched. A heap would clear all of it for every point.
func TestRAMIsNotOfTheHeap(t *testing.T) {
	pt := exptest.PointOf(t, exptest.E5410, "k", "workload.hits=20", "workload.warmup=8", "kernel.memory=256 MiB")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, require.Err(kinds.Measure(pt)))
	runtime.ReadMemStats(&after)
	asked := after.TotalAlloc - before.TotalAlloc
	require.That(t, asked <= uint64(pt.Kernel.Memory)/8, "a measurement asked for %d bytes of the heap, and the guest has %d of RAM", asked, pt.Kernel.Memory)
	t.Logf("%d bytes", asked)
}
