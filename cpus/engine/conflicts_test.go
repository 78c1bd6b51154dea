package engine

import (
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestConflicts has a load go ahead of a store whose address comes late. That costs where the store has its bytes. Then the
// load waits, and so many stores later it goes ahead again. The ways to remember change nothing.
func TestConflicts(t *testing.T) {
	const late, clear = 40 * clock.PerCycle, 7 * clock.PerCycle
	for _, way := range memos {
		for _, life := range []int{0, 128} {
			cfg := pipedCore()
			cfg.Events["memory_clear"], cfg.Events["store_forward"] = clear, 6*clock.PerCycle
			cfg.BackEnd.ConflictStores = life
			k := cfg.Classes["add"]
			k.Latency = late
			cfg.Classes["add"] = k
			c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyAdd, 21, 20, 0}, [4]byte{toyStore, 3, 21, 0}, [4]byte{toyLoad, 4, 22, 0}, [4]byte{toyHalt})
			way.set(&c.Core)
			c.R[20] = 0x8000
			round := func(load uint64) (took, cleared clock.Ticks) {
				c.R[22] = load
				c.step.Stalls.Clear = 0
				c.Advance(1 << 20)
				took = c.goFrom(0x1000)
				return took, c.step.Stalls.Clear
			}
			for range 300 {
				round(0x8040)
			}
			apart, _ := round(0x8040)
			for i, x := range []struct {
				elsewhere int // rounds in which the store does not go to the load's place
				clears    bool
			}{{0, true}, {0, false}, {10, false}, {100, false}, {100, false}, {140, true}, {20, false}} {
				for range x.elsewhere {
					took, cleared := round(0x8040)
					require.That(t, took == apart && cleared == 0, "%s, %d: a load apart from the store takes %d, of which %d for a clear; want %d", way.name, life, took, cleared, apart)
				}
				took, cleared := round(0x8000)
				want := apart + cfg.Events["store_forward"]
				if x.clears && life != 0 {
					want = apart + clear + cfg.L1D.Latency
				}
				require.That(t, took == want && (cleared == clear) == (x.clears && life != 0), "%s, %d: round %d takes %d, of which %d for a clear; want %d", way.name, life, i, took, cleared, want)
			}
		}
	}
}

// TestTableOfConflicts looks loads up that share a place. One takes the place of another when no load of the running block
// can find that one any more.
func TestTableOfConflicts(t *testing.T) {
	f := &conflicts{life: 200}
	one, other := uint64(0x1000), uint64(0x1001)
	for f.at(other) != f.at(one) {
		other++
	}
	require.That(t, f.told(0, 1) == 0 && f.told(one, 1) == 0, "an empty table tells loads to wait")
	f.learn(one, 1000, fewStores)
	for _, x := range []struct{ number, told uint64 }{{1001, waits}, {1099, waits}, {1100, waits | stale}, {1199, waits | stale}, {1200, 0}} {
		require.Equal(t, f.told(one, x.number), x.told, "at store %d the load is told", x.number)
	}
	f.learn(other, 1200+fewStores-1, fewStores)
	require.That(t, f.told(one, 1199) == waits|stale && f.told(other, 1264) == 0, "an entry is replaced that a load may find")
	f.learn(other, 1200+fewStores, fewStores)
	require.That(t, f.told(one, 1199) == 0 && f.told(other, 1300) == waits, "an entry is kept that no load may find")
	f.learn(other, 1400, fewStores)
	require.Equal(t, f.told(other, 1464), waits, "a load that conflicts again is told")
}
