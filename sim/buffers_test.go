package sim

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestBuffersAreForSearches refuses store buffers of machines that take turns by time, and of instruction sets that have none.
func TestBuffersAreForSearches(t *testing.T) {
	any := policy(func(*Machine, []int) (int, int) { return 0, 1 })
	for _, cfg := range []Config{
		{ISA: &cpus.ISA{StoresWait: true}, Buffers: &Buffers{}},
		{ISA: &cpus.ISA{Name: "none"}, Buffers: &Buffers{}, Policy: any},
	} {
		require.Error(t, (&Machine{cfg: cfg}).bufferStores(), "wait in no buffers", "%+v", cfg.ISA)
	}
}

// TestStoresGoUnderThoseThatAreSeen drains a store of one CPU while another one, which has stored to the same place, still has its
// turn. All CPUs then see the first, and the second sees its own.
func TestStoresGoUnderThoseThatAreSeen(t *testing.T) {
	mem := mmu.NewMemory(1 << 12)
	m := &Machine{mem: mem, cfg: Config{Buffers: &Buffers{Choose: func(cpu, held int) int { return cpu % 2 * held }}}}
	for range 4 { // those between store nothing, and of the first no store is drained
		m.buffers = append(m.buffers, mmu.NewStoreBuffer(mem, 4, nil))
	}
	want := func(v byte) {
		t.Helper()
		require.Equal(t, mem.Bytes(0, 1)[0], v, "memory has")
	}
	m.showStores(3)
	m.buffers[3].Store(0, 2, 1)
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

// TestRunEndsWithWhatAllSee leaves no store in memory that one CPU alone sees, when a run has ended in its turn.
func TestRunEndsWithWhatAllSee(t *testing.T) {
	var log []string
	m := require.Must(newPuppets(t, &log, nil))(t)
	m.buffers = []*mmu.StoreBuffer{mmu.NewStoreBuffer(m.mem, 4, nil)}
	m.showStores(0)
	m.buffers[0].Store(0x5000, 1, 1)
	m.End("over")
	require.NoError(t, m.Run())
	require.Equal(t, m.mem.Bytes(0x5000, 1)[0], 0, "memory has")
}
