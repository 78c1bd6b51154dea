package engine

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// refusing is the toy's translation of which pages from one on refuse.
type refusing struct {
	*toy
	from uint64
}

func (r refusing) DataAddress(va uint64, write bool) (uint64, bool) {
	if va >= r.from {
		r.Stop |= StopFault
		return 0, false
	}
	return r.toy.DataAddress(va, write)
}

// TestWordsOfTwoPages loads and stores words around a page boundary, behind which a page may refuse: then nothing is
// written, and the page in front of it is not noted.
func TestWordsOfTwoPages(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		c := newToy(t, cfg, 1<<20, 0)
		c.offset = 0x10000 // so that an address is not its translation
		want := []uint32{1, 2, 3, 4, 5}
		for range 2 { // with pages that are not noted, and that are
			got := make([]uint32, len(want))
			require.That(t, c.StoreWords(0x2ff8, want) && c.LoadWords(0x2ff8, got) && slices.Equal(got, want), "words %v", got)
			for i, w := range want {
				if v := get[uint32](c.ram, 0x12ff8+4*uint64(i)); v != w {
					t.Errorf("word %d is %d in memory", i, v)
				}
			}
		}
		require.Equal(t, c.Stop, 0, "stops for")
		c.translator = refusing{c, 0x3000}
		c.ForgetData()
		got := []uint32{7, 7, 7}
		require.That(t, !c.LoadWords(0x2ff8, got) && !c.StoreWords(0x2ff8, []uint32{9, 9, 9}) && c.Stop == StopFault, "a refused page: %v, stops for %#x", got, c.Stop)
		require.Equal(t, get[uint32](c.ram, 0x12ff8), 1, "a refused store wrote")
		c.Stop = 0
		require.That(t, c.LoadWords(0x2ff8, got[:2]) && c.StoreWords(0x2ff8, []uint32{9, 9}) && c.Stop == 0 && got[1] == 2, "words in front of a refused page: %v", got)
	})
}

// counting counts what is translated.
type counting struct {
	*toy
	asked int
}

func (c *counting) DataAddress(va uint64, write bool) (uint64, bool) {
	c.asked++
	return c.toy.DataAddress(va, write)
}

// TestWordsAtTheEnd loads and stores words up to the end of RAM, whose page is translated once.
func TestWordsAtTheEnd(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		const at = 1<<20 - 12
		c := newToy(t, cfg, 1<<20, 0)
		asks := &counting{toy: c}
		c.translator = asks
		require.That(t, c.StoreWords(at, []uint32{1, 2, 3}) && c.StoreWords(at, []uint32{4, 5, 6}) && asks.asked == 1, "stores asked for %d translations", asks.asked)
		for range 2 {
			got := make([]uint32, 3)
			require.That(t, c.LoadWords(at, got) && slices.Equal(got, []uint32{4, 5, 6}) && asks.asked == 2, "words %v, %d translations", got, asks.asked)
		}
	})
}

// TestWordsOfTheFirstLine loads words of the first line of RAM, which is no more in the cache at first than any other.
func TestWordsOfTheFirstLine(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		c := newToy(t, cfg, 1<<20, 0x8000)
		for range 2 {
			require.That(t, c.LoadWords(0, make([]uint32, 2)) && c.Counts.L1DMisses == 1, "%d misses", c.Counts.L1DMisses)
		}
	})
}

// TestWatchedWords has a watchpoint on the second page of several words.
func TestWatchedWords(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0)
	c.WatchData([][2]uint64{{0x3004, 0x3008}})
	w := &watching{toy: c}
	c.translator = w
	for _, x := range []struct {
		va   uint64
		n    int
		asks int // of so many bytes
	}{{0x2ff8, 2, 0}, {0x2ff8, 4, 8}, {0x3000, 2, 8}, {0x3000, 3, 12}} {
		w.asked = 0
		if c.LoadWords(x.va, make([]uint32, x.n)); w.asked != x.asks {
			t.Errorf("%d words at %#x: asked of %d bytes", x.n, x.va, w.asked)
		}
		w.refuse = x.asks != 0
		ok := c.LoadWords(x.va, make([]uint32, x.n))
		require.That(t, ok != w.refuse, "%d words at %#x are loaded: %v", x.n, x.va, ok)
		w.refuse = false
	}
}

// watching counts the bytes that watchpoints are asked of.
type watching struct {
	*toy
	asked  int
	refuse bool
}

func (w *watching) Watch(_ uint64, n int, _ bool) bool {
	w.asked += n
	return !w.refuse
}

// TestFetchWindows says which instructions of a block have to be fetched: those that begin a window of 16 bytes, and
// those that reach into one.
func TestFetchWindows(t *testing.T) {
	for _, x := range []struct {
		at      uint64
		fetched []int
	}{{0x100, []int{0, 4, 8}}, {0x104, []int{3, 7}}, {0x102, []int{3, 7}}, {0x10e, []int{0, 4, 8}}} {
		code := slices.Repeat([][4]byte{{toyNop}}, 9)
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, x.at, append(code, [4]byte{toyHalt})...)
		c.Steps(1, soon)
		var got []int
		for i, op := range c.block.ops[:9] {
			if op.Flags&newWindow != 0 {
				got = append(got, i)
			}
		}
		require.That(t, slices.Equal(got, x.fetched), "a block at %#x fetches windows with %v, want %v", x.at, got, x.fetched)
	}
}

// TestLastBranch asks what led to the program counter.
func TestLastBranch(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x100, [4]byte{toyNop}, jump(1), [4]byte{toyNop}, count(1, -3), [4]byte{toyHalt})
	c.R[1] = 1 // so that the count falls through
	for _, x := range []struct {
		steps int
		at    uint64
		ok    bool
	}{{0, 0, false}, {2, 0x104, true}, {1, 0, false}, {1, 0, false}} {
		c.Steps(x.steps, soon)
		in, at, flags, ok := c.LastBranch()
		if ok != x.ok || at != x.at || ok && (in.op != toyJump || flags&Branches == 0) {
			t.Errorf("at %#x: from %#x, flags %#x, %v", c.R[PC], at, flags, ok)
		}
	}
	c.R[PC] = 0x40 // somebody else goes elsewhere behind a block that ends without a branch
	if _, at, _, ok := c.LastBranch(); ok {
		t.Errorf("halt is a branch at %#x", at)
	}
}

// TestLineOfCodeStaysOwned has a CPU load from a line that its caches of data have lost and that of code has: the line
// stays its own, and nothing comes from elsewhere.
func TestLineOfCodeStaysOwned(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	cfg.L2.Size = 96 << 10
	c := cachedToys(t, cfg, 2)
	const pa = 0x8000
	c.fetchShared(pa)
	c.lookupOwned(pa)
	for at := uint64(0x10000); at < 0x100000; at += 64 {
		c.lookupShared(at)
	}
	line := c.line(pa)
	if c.l1d.Has(line) || c.l2.Has(line) || !c.l1i.Has(line) || !c.dir.Owns(0, line) {
		t.Fatalf("data %v, %v, code %v, owned %v", c.l1d.Has(line), c.l2.Has(line), c.l1i.Has(line), c.dir.Owns(0, line))
	}
	c.lookupShared(pa)
	if held, writable, recent := c.Cached(line); !held || !writable || !recent || c.Counts.Transfers != 0 {
		t.Errorf("held %v, writable %v, recent %v, %d transfers", held, writable, recent, c.Counts.Transfers)
	}
}

// TestTransferIsCharged has a CPU read what another one has written: the transfer takes its time, another one behind it
// waits for it, and a line that nobody wrote comes from memory.
func TestTransferIsCharged(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	a := cachedToys(t, cfg, 2)
	d := a.dir
	b := toyBeside(a.Memory, cfg, 1, a, d)
	const pa = 0x8000
	a.lookupOwned(pa)
	if got, fresh := b.read(b.l1d, b.line(pa), &b.Counts.L1DMisses); got != cfg.Events[cpus.EventTransfer] || !fresh || b.Counts.Transfers != 1 {
		t.Errorf("a line of another CPU takes %d, fresh %v, %d transfers", got, fresh, b.Counts.Transfers)
	}
	if got, fresh := b.read(b.l1d, b.line(pa), &b.Counts.L1DMisses); got != b.l1Lat || fresh {
		t.Errorf("again it takes %d, fresh %v", got, fresh)
	}
	if got, fresh := b.read(b.l1d, b.line(pa+0x1000), &b.Counts.L1DMisses); got != b.memLat || !fresh || b.Counts.Transfers != 1 {
		t.Errorf("a line of nobody takes %d, fresh %v", got, fresh)
	}
}
