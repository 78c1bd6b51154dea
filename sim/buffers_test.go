package sim

import (
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/mmu"
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

// TestStoresGoUnderThoseThatAreSeen drains a store of one CPU while another one, which has stored to the same place, still has its
// turn. All CPUs then see the first, and the second sees its own.
func TestStoresGoUnderThoseThatAreSeen(t *testing.T) {
	mem := mmu.NewMemory(1 << 12)
	m := &Machine{mem: mem, cfg: Config{Buffers: &Buffers{Choose: func(cpu, held int) int { return cpu * held }}}}
	for range 2 {
		m.buffers = append(m.buffers, mmu.NewStoreBuffer(mem, 4, nil))
	}
	want := func(v byte) {
		t.Helper()
		if got := mem.Bytes(0, 1)[0]; got != v {
			t.Errorf("memory has %d, want %d", got, v)
		}
	}
	m.showStores(1)
	m.buffers[1].Store(0, 2, 1)
	m.showStores(0)
	want(0)
	m.buffers[0].Store(0, 1, 1)
	m.drainSome()
	want(2)
	m.showStores(0)
	want(1)
	m.hideStores()
	want(2)
}
