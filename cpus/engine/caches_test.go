package engine

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// cachedToys are CPUs of a machine, alone or with neighbours, the first of which is under test.
func cachedToys(t *testing.T, cfg *cpus.Config, n int) *toy {
	t.Helper()
	if errs := cfg.Check(toyISA()); errs != nil {
		t.Fatal(errs)
	}
	m := mmu.NewMemory(1 << 20)
	if n == 1 {
		return toyBeside(m, cfg, 0, nil, nil)
	}
	d := mmu.NewDirectory(n)
	first := toyBeside(m, cfg, 0, nil, d)
	for i := 1; i < n; i++ {
		toyBeside(m, cfg, i, first, d)
	}
	return first
}

// TestLinesAreToldApart loads from lines whose numbers would be the same if lines were larger or smaller: each misses once.
func TestLinesAreToldApart(t *testing.T) {
	for _, line := range []int{64, 128} {
		for _, other := range []uint64{1, 2, 4} {
			for _, stores := range []bool{false, true} {
				c := cachedToys(t, toyConfig(cpus.Throughput, line), 1)
				touch := c.touchLoad
				if stores {
					touch = c.touchOwnLines
				}
				for _, pa := range []uint64{0x5000 * other, 0x5000, 0x5000 * other, 0x5000} {
					touch(pa, 4)
				}
				want := uint64(2)
				if other == 1 {
					want = 1
				}
				require.Equal(t, c.Counts.L1DMisses, want, "misses of lines of %d bytes, at %d times the address, stores %v", line, other, stores)
			}
		}
	}
}

// TestWriteAround stores to lines that the first level has and has not.
func TestWriteAround(t *testing.T) {
	for _, n := range []int{1, 2} {
		for _, around := range []bool{false, true} {
			cfg := toyConfig(cpus.Window, 64)
			cfg.L1D.WriteThrough, cfg.L1D.WriteAround = around, around
			c := cachedToys(t, cfg, n)
			const pa = 0x5000
			line := c.line(pa)
			if d := c.lookupStore(pa); d != c.memLat {
				t.Errorf("the first store takes %d, want %d", d, c.memLat)
			}
			if d := c.lookupStore(pa); d != c.l1Lat || c.l1d.Has(line) == around {
				t.Errorf("around %t, %d CPUs: the second store takes %d; the first level has its line: %t", around, n, d, c.l1d.Has(line))
			}
			want := c.l1Lat
			if around {
				want = c.l2Lat
			}
			if d := c.lookup(pa); d != want || !c.l1d.Has(line) {
				t.Errorf("around %t, %d CPUs: a load takes %d, want %d", around, n, d, want)
			}
			if d := c.lookupStore(pa); d != c.l1Lat || !c.l1d.Has(line) {
				t.Errorf("a store to a line that is there takes %d", d)
			}
			misses := c.Counts.L1DMisses
			if c.touchOwnLines(pa, 8); c.Counts.L1DMisses != misses {
				t.Error("a store to the line used last misses")
			}
		}
	}
}

// TestInclusive has a third level that is smaller than the others: they lose what it loses, and code with it.
func TestInclusive(t *testing.T) {
	for _, n := range []int{1, 2} {
		for _, inclusive := range []bool{false, true} {
			cfg := toyConfig(cpus.Window, 64)
			cfg.L3 = mmu.CacheConfig{Size: 4 << 10, Ways: 4, Line: 64, Latency: 90 * clock.PerCycle, Inclusive: inclusive}
			c := cachedToys(t, cfg, n)
			c.missFetch(0x8000)
			for pa := uint64(0); pa < 8<<10; pa += 64 {
				c.lookup(pa)
			}
			kept := 0
			for line := range uint32(8 << 10 / 64) {
				if c.l1d.Has(line) || c.l2.Has(line) {
					kept++
				}
			}
			want := 128
			if inclusive {
				want = 64
			}
			if kept != want || c.l1i.Has(c.line(0x8000)) == inclusive {
				t.Errorf("%d CPUs, inclusive %t: %d lines stay, want %d; code stays: %t", n, inclusive, kept, want, c.l1i.Has(c.line(0x8000)))
			}
			if d := c.lookup(0); (d == c.memLat) != inclusive {
				t.Errorf("%d CPUs, inclusive %t: the first line takes %d", n, inclusive, d)
			}
		}
	}
}

// TestExclusive goes round in more lines than the third level has room for, and fewer than it has with the second: an exclusive one
// has what the second has not, so that each is found. A neighbour that writes takes the lines from both.
func TestExclusive(t *testing.T) {
	for _, n := range []int{1, 2} {
		for _, exclusive := range []bool{false, true} {
			cfg := toyConfig(cpus.Window, 64)
			cfg.L1D.Size, cfg.L1D.Ways = 1<<10, 2
			cfg.L2 = mmu.CacheConfig{Size: 4 << 10, Ways: 4, Line: 64, Latency: 20 * clock.PerCycle}
			cfg.L3 = mmu.CacheConfig{Size: 8 << 10, Ways: 32, Line: 64, Latency: 90 * clock.PerCycle, Exclusive: exclusive}
			c := cachedToys(t, cfg, n)
			const lines = 11 << 10 / 64
			missed := 0
			for pass := range 4 {
				for line := range uint32(lines) {
					if d := c.lookup(uint64(line) * 64); d == c.memLat && pass == 3 {
						missed++
					}
					if c.l2.Has(line) && c.l3.Has(line) && exclusive {
						t.Fatalf("%d CPUs: both levels have line %d", n, line)
					}
				}
			}
			if (missed == 0) != exclusive {
				t.Errorf("%d CPUs, exclusive %t: %d of %d lines were nowhere", n, exclusive, missed, lines)
			}
			if n == 2 {
				for line := range uint32(lines) {
					c.dir.Write(1, line)
					require.Need(t, !c.holds(line), "line %d is still there", line)
				}
			}
		}
	}
	cfg := toyConfig(cpus.Window, 64)
	cfg.L3 = mmu.CacheConfig{Size: 64 << 10, Ways: 4, Line: 64, Exclusive: true, Inclusive: true}
	require.That(t, cfg.Check(toyISA()) != nil, "inclusive and exclusive passes")
	cfg = toyConfig(cpus.Window, 64)
	for level := range cfg.PerLine {
		for _, to := range []*clock.Ticks{&cfg.PerLine[level], &cfg.PerStored[level]} {
			*to = clock.PerCycle
			require.That(t, cfg.Check(toyISA()) != nil, "lines at some rate without prefetchers pass")
			*to = 0
		}
	}
}

// TestThirdLevel reads more than the second level holds. Each line is written by a neighbour in the end, and is
// then in no cache any more.
func TestThirdLevel(t *testing.T) {
	for _, n := range []int{1, 2} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.L1D.Size, cfg.L1D.Ways = 1<<10, 2
		cfg.L2 = mmu.CacheConfig{Size: 4 << 10, Ways: 4, Line: 64, Latency: 20 * clock.PerCycle}
		cfg.L3 = mmu.CacheConfig{Size: 48 << 10, Ways: 12, Line: 64, Latency: 90 * clock.PerCycle}
		c := cachedToys(t, cfg, n)
		pass := func() string {
			found := map[clock.Ticks]int{}
			for pa := uint64(0); pa < 32<<10; pa += 64 {
				found[c.lookup(pa)]++
			}
			return fmt.Sprint(found)
		}
		want := []string{fmt.Sprint(map[clock.Ticks]int{c.memLat: 512}), fmt.Sprint(map[clock.Ticks]int{c.l3Lat: 512})}
		for i, w := range want {
			if got := pass(); got != w {
				t.Errorf("%d CPUs, pass %d: %s, want %s", n, i, got, w)
			}
		}
		c.missFetch(0)
		if n == 1 {
			continue
		}
		for line := range uint32(512) {
			if !c.holds(line) {
				t.Fatalf("line %d is gone", line)
			}
			c.dir.Write(1, line)
			if c.holds(line) {
				t.Fatalf("line %d is still there", line)
			}
		}
	}
	cfg := toyConfig(cpus.Window, 64)
	cfg.L3 = mmu.CacheConfig{Size: 64 << 10, Ways: 4, Line: 128}
	require.That(t, cfg.Check(toyISA()) != nil, "lines of two sizes pass")
}
