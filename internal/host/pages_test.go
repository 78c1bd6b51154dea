package host

import (
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"

	"kprobesim/internal/require"
)

// TestPages writes to what it was given and gets zeroes again behind giving it back.
func TestPages(t *testing.T) {
	const size = 1 << 20
	for range 3 {
		var p Pages
		a, b := p.Zeroed(size), p.Zeroed(size)
		for i := range a {
			require.Need(t, len(b) == size && a[i] == 0 && b[i] == 0, "byte %d of %d is %d and %d", i, len(b), a[i], b[i])
			a[i], b[i] = 1, 2
		}
		require.That(t, a[size-1] == 1 && b[0] == 2, "two pieces share a byte")
		for range 2 { // there is nothing to give back the second time
			if err := p.Free(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestGuardPages touches the byte before memory and the one behind it, which the host refuses.
func TestGuardPages(t *testing.T) {
	for _, size := range []int{1, guard - 1, guard, guard + 1, 1<<20 + 4096} {
		guarded(t, size)
	}
}

// guarded touches the bytes around memory of a size.
func guarded(t *testing.T, size int) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var p Pages
	b := p.Zeroed(size)
	if p.given == nil && runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("does not apply: the memory comes from the heap")
	}
	first := unsafe.Pointer(&b[0])
	for _, at := range []int{-1, -guard, (size+guard-1)&^(guard-1) + guard - 1} {
		require.That(t, faults((*byte)(unsafe.Add(first, at))), "byte %d of %d can be written", at, size)
	}
	require.That(t, !faults(&b[0]) && !faults(&b[size-1]), "memory of %d bytes cannot be written", size)
	if err := p.Free(); err != nil {
		t.Error(err)
	}
}

// faults tells whether the host refuses a store.
func faults(at *byte) (refused bool) {
	defer func() { refused = recover() != nil }()
	*at = 1
	return false
}
