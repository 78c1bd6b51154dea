package pc_test

import (
	"bytes"
	"testing"

	"kprobesim/boards/pc/pctest"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestNear: what lies on the heap is seen where the kernel executes, near its text.
func TestNear(t *testing.T) {
	w := pctest.New(t, 1, "boot_count", "ready")
	at := require.Must(w.Alloc(4096, 4096))(t)
	near, ok := w.Near(at)
	text, _ := w.Image().Symbol("boot_count")
	require.Need(t, ok && (near-text.Addr)+1<<30 <= 1<<31, "%#x is executed at %#x, %v; the text is at %#x", at, near, ok, text.Addr)
	want := []byte("code")
	require.NoError(t, w.WriteBytes(near, want))
	got, err := w.ReadBytes(at, len(want))
	require.That(t, err == nil && bytes.Equal(got, want), "%q, %v, want %q", got, err, want)
}

// TestNotNear: beyond what the kernel maps for execution there is no such address.
func TestNotNear(t *testing.T) {
	w := pctest.New(t, 1, "boot_count", "ready", func(c *sim.Config) { c.RAM = 64 << 20 })
	at := require.Must(w.Alloc(16, 16))(t)
	for _, va := range []uint64{at + 64<<20, at + 512<<20, 0} {
		near, ok := w.Near(va)
		require.That(t, !ok, "%#x is executed at %#x", va, near)
	}
}
