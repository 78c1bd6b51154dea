package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// loadsApart loads so many bytes apart, with additions behind each load, and returns the cycles of a round. In a chain
// the address waits for the load before.
func loadsApart(t *testing.T, p cpus.Prefetch, by uint8, chain bool) int64 {
	t.Helper()
	cfg := toyConfig(cpus.Window, 64)
	cfg.Prefetch = p
	const rounds = 250
	load := [4]byte{toyLoad, 3, 20, 0}
	if chain {
		load[3] = 1 // sets register 20 too
	}
	code := [][4]byte{{toyAdd, 1, 0, rounds}, load}
	for range 30 {
		code = append(code, [4]byte{toyAdd, 9, 9, 4})
	}
	code = append(code, [4]byte{toyAdd, 20, 20, by}, count(1, int16(-len(code)-1)), [4]byte{toyHalt})
	c := newToy(t, cfg, 1<<20, 0xf_0000, code...)
	c.Run(soon)
	return int64(c.Now()/clock.PerCycle) / rounds
}

// TestPrefetchers shows each prefetcher by loops that it makes faster, and by some that it does not. A line from memory
// takes 200 cycles, and one that was sent for when the line before it was asked for, half of that: the work of a
// round begins when its line is there.
func TestPrefetchers(t *testing.T) {
	const apart, alone = 203, 72 // a chain, and loads that pass each other as far as the window reaches
	next := cpus.Prefetch{InFlight: 16, Next: cpus.Stream{Streams: 4, Ahead: 1}}
	far := cpus.Prefetch{InFlight: 32, Stream: cpus.Stream{Streams: 4, Ahead: 20}}
	short := cpus.Prefetch{InFlight: 3, Stream: cpus.Stream{Streams: 4, Ahead: 20}}
	stride := cpus.Prefetch{InFlight: 16, Stride: cpus.Stride{Entries: 64, Most: 2048}}
	near := cpus.Prefetch{InFlight: 16, Stride: cpus.Stride{Entries: 64, Most: 128}}
	pair := cpus.Prefetch{InFlight: 16, Pair: cpus.PairedLines{Bytes: 128}}
	for _, c := range []struct {
		name   string
		p      cpus.Prefetch
		by     uint8
		chain  bool
		cycles int64
	}{
		{"nothing", cpus.Prefetch{}, 64, true, apart},
		{"the next line", next, 64, true, 107},
		{"20 lines ahead", far, 64, true, 37},
		{"20 lines ahead with 3 on their way", short, 64, true, 57},
		{"a stride of a line", stride, 64, true, 105},
		{"the other line of a pair", pair, 64, true, 111},
		{"nothing", cpus.Prefetch{}, 192, true, apart},
		{"the next line is not asked for", next, 192, true, apart},
		{"the other line of a pair neither", pair, 192, true, apart},
		{"a stride of three lines", stride, 192, true, 108},
		{"a stride too long", near, 192, true, apart},
		{"nothing", cpus.Prefetch{}, 64, false, alone},
		{"20 lines ahead", far, 64, false, 33},
	} {
		got := loadsApart(t, c.p, c.by, c.chain)
		require.That(t, got == c.cycles, "%s by %d, in a chain %t: %d cycles, want %d", c.name, c.by, c.chain, got, c.cycles)
	}
}

// TestLinesCome loads lines that are in the third level, or in memory. Streams send for them, so a round takes as long as its work or,
// where that is longer, as the level takes for a line, and some cycles more, because streams begin anew in each page.
func TestLinesCome(t *testing.T) {
	for _, x := range []struct {
		third   bool // holds them
		perLine [3]clock.Ticks
		want    clock.Ticks
	}{
		{true, [3]clock.Ticks{}, 11},
		{true, [3]clock.Ticks{9, 3, 100}, 10},
		{true, [3]clock.Ticks{0, 17, 0}, 20},
		{false, [3]clock.Ticks{}, 11},
		{false, [3]clock.Ticks{0, 100, 0}, 11},
		{false, [3]clock.Ticks{0, 0, 40}, 48},
	} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.L1D.Size, cfg.L1D.Ways, cfg.L2.Size, cfg.L2.Ways = 1<<10, 2, 2<<10, 2
		if x.third {
			cfg.L3 = mmu.CacheConfig{Size: 1 << 20, Ways: 16, Line: 64, Latency: 60 * clock.PerCycle}
		}
		for level, n := range x.perLine {
			cfg.PerLine[level] = n * clock.PerCycle
		}
		cfg.Prefetch = cpus.Prefetch{InFlight: 32, Stream: cpus.Stream{Streams: 4, Ahead: 20}}
		var took clock.Ticks
		const rounds = 250
		c := newToy(t, cfg, 1<<20, 0xf_0000, [4]byte{toyAdd, 1, 0, rounds}, [4]byte{toyLoad, 3, 20, 0}, [4]byte{toyAdd, 20, 20, 64}, count(1, -3), [4]byte{toyHalt})
		for range 2 {
			c.R[PC], c.R[20], c.Halted = 0xf_0000, 0, false
			took = -c.Now()
			c.Run(soon)
			took += c.Now()
		}
		got := took / clock.PerCycle / rounds
		require.That(t, got == x.want, "a third level: %t, and a line each %d cycles: %d cycles a round, want %d", x.third, x.perLine, got, x.want)
	}
}

// TestPrefetchCrossesPages has a stream and a stride go on behind 4 KiB, up to the end of a large page that the TLB has.
func TestPrefetchCrossesPages(t *testing.T) {
	for _, crosses := range []bool{false, true} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.Prefetch = cpus.Prefetch{InFlight: 32, Stream: cpus.Stream{Streams: 2, Ahead: 8}, CrossesPages: crosses}
		c := newToy(t, cfg, 3<<20, 0x1000)
		c.DTLB.Insert(mmu.Page{VA: 1 << 30, PA: 0, Shift: 21})
		for _, at := range []uint64{0x4f00, 0x1f_ff00} { // in the large page, and at its end
			for pa := at; pa <= at+0xc0; pa += 64 {
				c.demand(pa, reads)
			}
		}
		for _, x := range []struct {
			pa   uint64
			want bool
		}{{0x4fc0, true}, {0x5000, crosses}, {0x50c0, crosses}, {0x5100, false}, {0x1f_ffc0, true}, {0x20_0000, false}} {
			got := c.l2.Has(uint32(x.pa >> 6))
			require.That(t, got == x.want, "line %#x is in the second level: %t (crosses pages: %t)", x.pa, got, crosses)
		}
	}
}

// TestStreamsPassWhatIsThere has a stream come to lines that the second level has already. It goes on behind them.
func TestStreamsPassWhatIsThere(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	cfg.Prefetch = cpus.Prefetch{InFlight: 32, Stream: cpus.Stream{Streams: 2, Ahead: 8}}
	c := newToy(t, cfg, 1<<16, 0x1000)
	c.bringAhead(0x5080)
	c.bringAhead(0x50c0)
	for _, pa := range []uint64{0x5000, 0x5040, 0x5080} {
		c.demand(pa, reads)
	}
	for pa, want := range map[uint64]bool{0x5100: true, 0x5140: true, 0x5180: false} {
		require.Equal(t, c.l2.Has(c.line(pa)), want, "line %#x was sent for", pa)
	}
}

// TestPrefetchStaysInPage has streams and strides end where a page does, and where memory does.
func TestPrefetchStaysInPage(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	all := cpus.Stream{Streams: 2, Ahead: 8}
	cfg.Prefetch = cpus.Prefetch{InFlight: 32, Next: all, Stream: all, Stride: cpus.Stride{Entries: 4, Most: 2048}}
	cfg.Prefetch.Pair.Bytes = 128
	c := newToy(t, cfg, 1<<16, 0x1000)
	for _, pa := range []uint64{0x4f00, 0x4f40, 0x4f80, 0x6100, 0x60c0, 0x6080, 0xff00, 0xff40, 0xff80} {
		c.demand(pa, reads)
	}
	for line := range uint32(1 << 16 >> 6) {
		want := line>>6 == 4 && line >= 0x4f00>>6 || line>>6 == 6 && line <= 0x6100>>6+1 || line >= 0xff00>>6
		if line == 0x6140>>6 || c.l2.Has(line) == want {
			continue
		}
		t.Errorf("line %#x is in the second level: %t", line<<6, !want)
	}
}

// TestAddressOfTheStackIsThePointers asks when a push or a pop knows its address: when the stack pointer does. What the one before it has
// had is not in the state that the memo keeps.
func TestAddressOfTheStackIsThePointers(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000, [4]byte{toyHalt})
	c.cur, c.idx = &timed{ops: []Op{{Base: stackAddress, Index: c.sink}, {Base: c.stack, Index: c.sink}}}, 0
	soon := c.dispatch + c.leastIssue
	for _, x := range []struct{ pointer, before, want ticks }{
		{0, soon + 600, soon}, {soon + 60, soon + 600, soon + 60}, {soon + 600, 0, soon + 600},
	} {
		c.ready[c.stack&regMask], c.ready[stackAddress] = x.pointer, x.before
		for c.idx = range 2 {
			require.Equal(t, c.addressed(), x.want, "the pointer is known at %d, instruction %d knows its address at", x.pointer, c.idx)
		}
	}
}
