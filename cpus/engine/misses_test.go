package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestStoreQueue has stores miss, each another line that memory has in 200 cycles, on a core that may or may not ask for the
// lines of those that wait.
func TestStoreQueue(t *testing.T) {
	for _, c := range []struct {
		queue          bool
		stores, misses int
		cycles         int64 // of a store
	}{
		{false, 20, 0, 197}, // one behind the other
		{true, 20, 0, 10},
		{true, 4, 0, 50},
		{true, 1, 0, 200},
		{true, 20, 8, 24},
		{true, 20, 1, 184},
		{true, 50, 0, 4},
		{true, 100, 0, 2},
		{true, cpus.MaxStoreQueue, 0, 2},
	} {
		cfg := pipedCore()
		cfg.StoreBuffer, cfg.BackEnd.StoreQueue, cfg.BackEnd.MissBuffers = c.stores, c.queue, c.misses
		got := missesTime(t, cfg, [4]byte{toyStore, 3, 20, 0})
		require.That(t, got >= c.cycles && got <= c.cycles+1, "%+v: %d cycles a store", c, got)
	}
}

// TestMissBuffers has loads miss, which wait for no other, or each for the one before it.
func TestMissBuffers(t *testing.T) {
	for _, c := range []struct {
		misses int
		cycles int64
	}{{0, 9}, {24, 9}, {10, 20}, {4, 50}, {1, 197}} {
		cfg := pipedCore()
		cfg.BackEnd.MissBuffers = c.misses
		got := missesTime(t, cfg, [4]byte{toyLoad, 3, 20, 0})
		require.That(t, got >= c.cycles && got <= c.cycles+1, "%+v: %d cycles a load", c, got)
	}
	p := &pipeline{misses: make([]ticks, 2)}
	for i, x := range []struct{ at, d, want ticks }{
		{0, 100, 100}, {100, 100, 200}, {200, 100, 300}, // a chain has one buffer
		{10, 100, 110}, {20, 100, 210},
	} {
		require.Equal(t, p.missing(x.at, x.d), x.want, "miss %d", i)
	}
}

// TestStoresBehindMisses has stores, which all find their line, retire behind loads that miss. As an amount of time the store buffer
// holds up dispatch long before it is full.
func TestStoresBehindMisses(t *testing.T) {
	for _, c := range []struct {
		queue  bool
		stores int
		cycles int64 // of a load and a store
	}{{false, 20, 193}, {true, 20, 9}, {true, 4, 43}} {
		cfg := pipedCore()
		cfg.StoreBuffer, cfg.BackEnd.StoreQueue = c.stores, c.queue
		got := missesTime(t, cfg, [4]byte{toyLoad, 3, 20, 0}, [4]byte{toyStore, 1, 22, 0})
		require.That(t, got >= c.cycles && got <= c.cycles+2, "%+v: %d cycles a round", c, got)
	}
}

// missesTime is the cycles of a round of instructions whose operands by register 20 lie in another line each time.
func missesTime(t *testing.T, cfg *cpus.Config, body ...[4]byte) int64 {
	const rounds = 250
	code := append([][4]byte{{toyAdd, 1, 0, rounds}}, body...)
	code = append(code, [4]byte{toyAdd, 20, 20, 255}, [4]byte{toyAdd, 20, 20, 65}, count(1, int16(-3-len(body))), [4]byte{toyHalt})
	x := newToy(t, cfg, 1<<20, 0xf_0000, code...)
	x.Run(soon)
	y := newToy(t, cfg, 1<<20, 0xf_0000, code...)
	y.memo.limit = 0
	y.Run(soon)
	require.Equal(t, y.Now(), x.Now(), "without the memo")
	return int64(x.Now()/clock.PerCycle) / rounds
}

// TestStoredLines has stores wait for lines of the second level: each line takes so long until the next one comes, and keeps stores from
// being written while it is. A line is stored once, or eight times. Of eight the queue does not hide all, which is a cycle.
func TestStoredLines(t *testing.T) {
	for _, x := range []struct {
		apart, fill clock.Ticks // in cycles
		once, whole int64
	}{{0, 0, 2, 9}, {4, 0, 4, 9}, {0, 3, 4, 12}, {4, 3, 4, 12}, {15, 3, 14, 16}} {
		cfg := pipedCore()
		cfg.L1D.Size, cfg.L1D.Ways, cfg.StoreBuffer, cfg.BackEnd.StoreQueue = 1<<10, 2, 24, true
		cfg.PerLine[0], cfg.PerStored[0], cfg.Events["store_fill"] = 0, x.apart*clock.PerCycle, x.fill*clock.PerCycle
		cfg.Prefetch.InFlight = 1
		for _, words := range []int{1, 8} {
			code := [][4]byte{{toyAdd, 20, 0, 0}, {toyAdd, 1, 0, 250}}
			for i := range words {
				code = append(code, [4]byte{toyStore, 3, 20, uint8(8 * i)})
			}
			code = append(code, [4]byte{toyAdd, 20, 20, 64}, count(1, int16(-2-words)), [4]byte{toyHalt})
			c := newToy(t, cfg, 1<<20, 0xf_0000, code...)
			c.goFrom(0xf_0000)
			got, want := int64((c.goFrom(0xf_0000)/clock.PerCycle+125)/250), x.once
			if words > 1 {
				want = x.whole
			}
			require.That(t, got == want, "%+v: a line with %d stores takes %d cycles, want %d", x, words, got, want)
		}
	}
}
