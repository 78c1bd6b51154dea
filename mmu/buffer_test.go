package mmu

import (
	"bytes"
	"testing"

	"kprobesim/internal/require"
)

// TestStoreBuffer has two CPUs store into one word by turns. Each sees its own stores, and memory has what was drained.
func TestStoreBuffer(t *testing.T) {
	m := NewMemory(1 << 12)
	a, b := NewStoreBuffer(m, 2, [][2]uint64{{64, 128}}), NewStoreBuffer(m, 2, nil)
	turn := func(x *StoreBuffer, want []byte, f func()) {
		t.Helper()
		x.Show()
		f()
		got := m.Bytes(0, len(want))
		require.That(t, bytes.Equal(got, want), "it sees %v, want %v", got, want)
		x.Hide()
	}
	turn(a, []byte{1, 1, 1, 1}, func() { a.Store(0, 0x01010101, 4) })
	turn(b, []byte{0, 2, 2, 0}, func() { b.Store(1, 0x0202, 2) })
	turn(a, []byte{3, 1, 1, 1}, func() { a.Store(0, 3, 1) })
	if got := m.Bytes(0, 4); !bytes.Equal(got, make([]byte, 4)) || a.Held() != 2 || b.Held() != 1 {
		t.Errorf("all see %v; %d and %d are held", got, a.Held(), b.Held())
	}
	b.Drain(1)
	turn(a, []byte{3, 1, 1, 4}, func() { a.Store(3, 4, 1) }) // there is room for two: the first is seen by all
	if got := m.Bytes(0, 4); !bytes.Equal(got, []byte{1, 1, 1, 1}) || a.Held() != 2 {
		t.Errorf("all see %v, %d are held", got, a.Held())
	}
	turn(a, []byte{3, 1, 1, 4}, func() { a.Store(64, 5, 1) }) // into code
	if got := m.Bytes(0, 4); !bytes.Equal(got, []byte{3, 1, 1, 4}) || m.Bytes(64, 1)[0] != 5 || a.Held() != 0 {
		t.Errorf("all see %v, %d are held", got, a.Held())
	}
}
