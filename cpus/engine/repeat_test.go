package engine

import (
	"bytes"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// elements are the ways to make accesses of one width: as many at once as the engine takes, and one after the other.
type elements struct {
	size        uint64
	pace        func() *Pace
	fill, fills func(c *Core, at, n uint64, p *Pace) uint64
	copy, moves func(c *Core, from, to, n uint64, p *Pace) uint64
}

func elementsOf[T Width](size uint64, fast bool) elements {
	return elements{
		size: size,
		pace: func() *Pace { return &Pace{Class: toyNop, Fast: fast, Size: size} },
		fill: func(c *Core, at, n uint64, p *Pace) uint64 { return StoreElements(c, at, T(0x81), n, p) },
		copy: func(c *Core, from, to, n uint64, p *Pace) uint64 { return CopyElements[T](c, from, to, n, p) },
		fills: func(c *Core, at, n uint64, p *Pace) uint64 {
			for i := range n {
				Store(c, at+i*size, T(0x81))
				c.Repeat(p)
			}
			return n
		},
		moves: func(c *Core, from, to, n uint64, p *Pace) uint64 {
			for i := range n {
				v, _ := Load[T](c, from+i*size)
				Store(c, to+i*size, v)
				c.Repeat(p)
			}
			return n
		},
	}
}

// widths are the elements of each width, without and with fast strings.
var widths = []elements{
	elementsOf[uint8](1, false), elementsOf[uint16](2, false), elementsOf[uint32](4, false), elementsOf[uint64](8, false),
	elementsOf[uint8](1, true), elementsOf[uint64](8, true),
}

// repeatingToy has lines of data at hand, and executes an instruction that calls a function behind a store that is on its way. Loads from one place
// come behind it.
func repeatingToy(t *testing.T, cfg *cpus.Config, behind uint8, f func(c *Core)) *toy {
	t.Helper()
	cfg.Classes["do"] = cpus.Cost{Latency: 1000, Port: "alu", InOrder: true}
	cfg.Events["load_use"], cfg.Events["store_commit"] = 0, 1000*clock.PerCycle // so that stores are still on their way
	c := newToy(t, cfg, 1<<20, 0x1000)
	c.R[20] = 0x8000
	for i := range uint64(0x400 / 8) { // the first lines last
		Store(&c.Core, 0x83f8-8*i, i*0x0101_0203_0405_0607)
		Load[uint64](&c.Core, 0x83f8-8*i)
	}
	toyWrite(c, 0x1000, [4]byte{toyStore, 3, 20, 8}, c.do(Loads|Stores, func() { f(&c.Core) }),
		[4]byte{toyLoad, 5, 20, behind}, [4]byte{toyStore, 5, 20, 0xc0}, [4]byte{toyLoad, 6, 20, behind + 4}, [4]byte{toyHalt})
	c.R[3] = 0x1122334455667788
	c.goFrom(0x1000)
	return c
}

// TestElementsAtOnce makes accesses at once and one after the other: memory, times and counts are the same.
func TestElementsAtOnce(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		for _, w := range widths {
			for _, x := range []struct{ from, to, n uint64 }{
				{0x8000, 0x8000, 3}, {0x8000, 0x8040, 2}, {0x8040, 0x8008, 100}, {0x8000, 0x8000 + w.size, 100}, {0x8010, 0x8080, 64},
			} {
				for _, way := range []struct {
					name           string
					atOnce, singly func(c *Core, n uint64) uint64
				}{
					{"fill", func(c *Core, n uint64) uint64 { return w.fill(c, x.to, n, w.pace()) }, func(c *Core, n uint64) uint64 { return w.fills(c, x.to, n, w.pace()) }},
					{"copy", func(c *Core, n uint64) uint64 { return w.copy(c, x.from, x.to, n, w.pace()) }, func(c *Core, n uint64) uint64 { return w.moves(c, x.from, x.to, n, w.pace()) }},
				} {
					for _, behind := range []uint64{x.to, x.to + w.size*((x.n-1)&3), 0x8008} {
						made := uint64(0)
						atOnce := repeatingToy(t, cfg, uint8(behind), func(c *Core) { made = way.atOnce(c, x.n) })
						require.That(t, made > 0 && made <= x.n, "%s of %d bytes, %+v: %d elements at once", way.name, w.size, x, made)
						singly := repeatingToy(t, cfg, uint8(behind), func(c *Core) { way.singly(c, made) })
						same(t, way.name, singly, atOnce)
						require.That(t, bytes.Equal(singly.ram, atOnce.ram), "%s of %d bytes, %+v: memory differs", way.name, w.size, x)
					}
				}
			}
		}
	})
}

// TestCopiesWithinASet copies between two lines of one set of the first level, which take turns in being used: behind two elements the others
// are made at once. What the caches hold and whose turn it is, columns of loads too, is as when all are made singly.
func TestCopiesWithinASet(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		span := uint64(cfg.L1D.Size / cfg.L1D.Ways)
		for _, ways := range []int{1, 2, 4, cfg.L1D.Ways} {
			cfg.L1D.Size, cfg.L1D.Ways = int(span)*ways, ways
			for _, w := range widths {
				for _, single := range []uint64{0, 1, 2, 3} {
					made, columns := uint64(0), uint64(0)
					run := func(atOnce bool) *toy {
						return repeatingToy(t, cfg, 0, func(c *Core) {
							c.columnShift, c.columnMask = 3, 7
							p, from, to := w.pace(), uint64(0x8000), 0x8000+span
							w.moves(c, from, to, single, p)
							n := uint64(0)
							if atOnce {
								n = w.copy(c, from+single*w.size, to+single*w.size, 5, p)
								made = n
							}
							w.moves(c, from+(single+n)*w.size, to+(single+n)*w.size, 5-n, p)
							columns = c.columns
							for _, line := range []uint64{to + span, to + 2*span, from} {
								Load[uint64](c, line)
							}
						})
					}
					singly, want := run(false), columns
					same(t, "one set", singly, run(true))
					require.Equal(t, columns, want, "columns of the last loads are")
					require.That(t, (made != 0) == (single >= 2 && ways > 1), "%d ways, elements of %d bytes, behind %d of them: %d at once", ways, w.size, single, made)
				}
			}
		}
	})
}

// TestRepeatTakesTheIssueOfItsClass prices elements: each takes what its class takes to issue, beside its memory.
func TestRepeatTakesTheIssueOfItsClass(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		cfg.Classes["add"] = cpus.Cost{Issue: 700, Latency: 1000, Port: "alu"}
		took := func(n uint64, class uint8) ticks {
			return repeatingToy(t, cfg, 0, func(c *Core) {
				for range n {
					c.Repeat(&Pace{Class: class})
				}
			}).Now()
		}
		none := took(0, toyAdd)
		require.Equal(t, took(5, toyAdd)-none, 5*700, "five elements take")
		c := repeatingToy(t, cfg, 0, func(c *Core) {
			c.Repeat(&Pace{Class: toyAdd})
			StoreElements(c, 0x8000, uint64(1), 4, &Pace{Class: toyAdd})
		})
		require.Equal(t, c.Now()-none, 5*700, "five elements, of which four are made at once, take")
		fast := repeatingToy(t, cfg, 0, func(c *Core) {
			p := &Pace{Class: toyAdd, Fast: true, Size: 1}
			for range 100 {
				c.Repeat(p)
			}
		})
		require.Equal(t, fast.Now()-none, 700*100/FastBytes, "100 bytes of a fast string take")
		for what, access := range map[string]func(c *Core){
			"loaded": func(c *Core) { Load[uint64](c, 0x40000) },
			"stored": func(c *Core) { Store(c, 0x40000, uint64(1)) },
		} {
			line := repeatingToy(t, cfg, 0, func(c *Core) { access(c); c.Repeat(&Pace{Class: toyAdd}) })
			require.Equal(t, line.Now()-none, 700+line.memLat-line.l1Lat, "an element that is %s, of a line that no cache has, takes", what)
		}
	})
}

// TestElementsNeedTheirTags counts the elements that are made at once. They lie in one line and one granule. There are none where one alone would
// need more than its tags.
func TestElementsNeedTheirTags(t *testing.T) {
	for _, line := range []int{64, 128} {
		for _, x := range []struct {
			what     string
			from, to uint64
			n, want  uint64
		}{
			{"a granule", 0x8000, 0x8080, 100, 16},
			{"fewer", 0x8000, 0x8080, 5, 5},
			{"none", 0x8000, 0x8080, 0, 0},
			{"up to its end", 0x8000, 0x80b0, 100, 4},
			{"not aligned", 0x8000, 0x8082, 100, 0},
			{"a line that was not used last", 0x8000, 0x8100, 100, 0},
			{"a page that is not known", 0x8000, 0x9000, 100, 0},
			{"a page that is watched", 0x8000, 0xa280, 100, 0},
			{"code", 0x8000, 0xc200, 100, 0},
			{"a page that was read alone", 0x8000, 0xe240, 100, 0},
		} {
			c := newToy(t, toyConfig(cpus.Window, line), 1<<20, 0xc200, adding(1)...)
			c.goFrom(0xc200)
			c.WatchData([][2]uint64{{0xa800, 0xa808}})
			for _, at := range []uint64{0x8100, 0xa280, 0xc200, 0x8000, 0x8080} {
				Store(&c.Core, at, get[uint32](c.ram, at))
				Load[uint32](&c.Core, at)
			}
			Load[uint32](&c.Core, 0xe240)
			Load[uint32](&c.Core, 0xc200)
			c.goFrom(0xc200)
			c.dRecent[c.line(0x8100)&c.dMask] = 0
			require.Equal(t, StoreElements(&c.Core, x.to, uint32(7), x.n, &Pace{Class: toyNop}), x.want, "lines of %d bytes, %s: stored at once are", line, x.what)
			require.Equal(t, CopyElements[uint32](&c.Core, x.from, x.to, x.n, &Pace{Class: toyNop}), x.want, "lines of %d bytes, %s: copied at once are", line, x.what)
		}
	}
}

// TestCopiesNeedTheirSource copies from where more than tags is needed.
func TestCopiesNeedTheirSource(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
	for _, at := range []uint64{0xa100, 0x8000} {
		Store(&c.Core, at, uint64(1))
		Load[uint64](&c.Core, at)
	}
	const elsewhere = 0x8000 + microEntries<<pageShift // which would have the same entry of the micro-TLB
	require.Equal(t, StoreElements(&c.Core, elsewhere, uint8(1), 1, &Pace{Class: toyNop}), 0, "stored at once to another page are")
	for from, want := range map[uint64]uint64{0x8000: 2, 0x8038: 1, 0x8004: 0, 0xa100: 2, 0xa140: 0, 0xb000: 0, elsewhere: 0} {
		require.Equal(t, CopyElements[uint64](&c.Core, from, 0x8010, 2, &Pace{Class: toyNop}), want, "from %#x, copied at once are", from)
	}
}

// TestRepeatAddsWhatAccessesTook adds the issue of an element and all delays of its accesses, once.
func TestRepeatAddsWhatAccessesTook(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000, [4]byte{toyHalt})
	c.idx, c.acc[0] = 0, access{miss: 100, missW: 20, own: 3}
	for range 2 { // the second finds no delays
		c.Repeat(&Pace{Class: toyNop})
	}
	require.Equal(t, c.acc[0], access{miss: 123 + 2*c.cost[toyNop].issue}, "two elements took")
}
