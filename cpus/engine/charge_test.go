package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// doing returns what an instruction with flags takes that calls a function, between two others. What it needs is at hand.
func doing(t *testing.T, cfg *cpus.Config, flags uint16, f func(c *toy)) clock.Ticks {
	c := newToy(t, cfg, 1<<20, 0x1000)
	on := false
	toyWrite(c, 0x1000, [4]byte{toyAdd, 1, 1, 1}, c.do(flags, func() {
		if on {
			f(c)
		}
	}), [4]byte{toyAdd, 1, 1, 1}, [4]byte{toyHalt})
	c.goFrom(0x1000)
	c.Advance(1 << 20)
	took := c.goFrom(0x1000)
	c.Advance(1 << 20)
	on = true
	return c.goFrom(0x1000) - took
}

// TestWalkPrices charges the walk of page tables: its event, and the loads of the walker that lie in RAM.
func TestWalkPrices(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		walk, memory, hit := cfg.Events["tlb_walk"], cfg.Memory, cfg.L1D.Latency
		for _, x := range []struct {
			name string
			refs []uint64
			exec bool
			want clock.Ticks
		}{
			{"nothing read", nil, false, walk},
			{"two tables", []uint64{0x40000, 0x50000}, false, walk + 2*memory},
			{"one line twice", []uint64{0x40000, 0x40008}, false, walk + memory + hit},
			{"outside of RAM", []uint64{outside}, false, walk},
			{"of code", []uint64{0x40000}, true, walk + memory},
		} {
			for _, flags := range []uint16{Loads, Stores, Loads | Stores} {
				var after cpus.Counters
				took := doing(t, cfg, flags, func(c *toy) {
					refs := mmu.Refs{}
					for _, pa := range x.refs {
						refs.Add(pa)
					}
					c.ChargeWalk(&refs, x.exec)
					after = c.Counts
				})
				hidden := clock.Ticks(0)
				if flags == Stores && cfg.Model == cpus.Window && !x.exec { // it waits for its data meanwhile
					hidden = 2 * clock.PerCycle
				}
				require.That(t, took <= x.want && took >= x.want-hidden, "a walk of %s for an instruction of flags %#x takes %d, want %d", x.name, flags, took, x.want)
				misses := [2]uint64{after.DTLBMisses, after.ITLBMisses}
				require.Equal(t, misses, map[bool][2]uint64{false: {1, 0}, true: {0, 1}}[x.exec], "a walk of %s is counted", x.name)
			}
		}
	})
}

// TestAccessWithoutADescription has nothing of an access wait for a later block, whose load has the same number, where the
// instruction neither loads nor stores by its description.
func TestAccessWithoutADescription(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		c := newToy(t, cfg, 1<<20, 0x1000)
		miss, n := false, 0
		for i, flags := range []uint16{0, Loads, Stores} { // the second instruction of a short block, and the last of a long one
			program := [][4]byte{{toyAdd, 1, 1, 1}, c.do(flags, func() {
				if miss && i == 0 {
					Load[uint64](&c.Core, 0x8000+uint64(n)<<8)
					c.chargeTranslation(1000, false)
					n++
				}
			})}
			for len(program) < insnBits+8 {
				program = append(program, [4]byte{toyAdd, 2, 2, 2})
			}
			program = append(program, program[1], [4]byte{toyHalt})
			toyWrite(c, 0x1000*uint64(2*i+1), [4]byte{toyAdd, 1, 1, 1}, program[1], [4]byte{toyHalt})
			toyWrite(c, 0x1000*uint64(2*i+2), program...)
		}
		run := func(at uint64) (took clock.Ticks) {
			for range 3 {
				took = c.goFrom(at)
				c.Advance(1 << 20)
			}
			return took
		}
		var want [6]clock.Ticks
		for i := range want {
			want[i] = run(0x1000 * uint64(i+1))
		}
		for i := 2; i < len(want); i++ {
			miss = true
			took := run(0x1000 * uint64(i%2+1))
			miss = false
			require.Equal(t, took, want[i%2], "an access that is not described takes")
			require.Equal(t, c.goFrom(0x1000*uint64(i+1)), want[i], "block %d takes behind it", i)
			c.Advance(1 << 20)
		}
	})
}

// TestWalksWithoutACostModel counts no misses and charges nothing.
func TestWalksWithoutACostModel(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
	toyWrite(c, 0x1000, c.do(0, func() {
		refs := mmu.Refs{}
		refs.Add(0x40000)
		c.ChargeWalk(&refs, false)
		c.ChargeWalk(&refs, true)
		c.chargeTranslation(1000, true)
	}), [4]byte{toyHalt})
	c.Untimed(7, soon)
	require.Equal(t, c.goFrom(0x1000), 14, "two instructions take")
	require.That(t, c.Counts.DTLBMisses+c.Counts.ITLBMisses+c.Counts.L1DMisses == 0, "misses are counted: %+v", c.Counts)
}

// TestSecondTLB finds translations in a TLB behind the first one, which takes its latency once. What is dropped is in neither.
func TestSecondTLB(t *testing.T) {
	cfg := toyConfig(cpus.Throughput, 64)
	cfg.DTLB.Entries, cfg.DTLB.Ways = 2, 2
	cfg.TLB2 = cpus.TLB2{TLBConfig: mmu.TLBConfig{Entries: 64, Ways: 4, LargeEntries: 4, LargeWays: 4}, Latency: 9000}
	for _, exec := range []bool{false, true} {
		for _, x := range []struct {
			name   string
			others int // translations that come behind it
			drop   bool
			found  bool
			want   clock.Ticks
		}{{"at hand", 0, false, true, 0}, {"behind", 300, false, false, 0}, {"displaced", 8, false, true, 9000}, {"dropped", 0, true, false, 0}} {
			if exec && x.others == 8 {
				continue // the TLB of code is as large as the one behind it
			}
			found, pa := false, uint64(0)
			took := doing(t, cfg, Loads, func(c *toy) {
				tlb := c.DTLB
				if exec {
					tlb = c.ITLB
				}
				tlb.Insert(mmu.Page{VA: 0x5000, PA: 0x7000, Shift: pageShift})
				for i := range uint64(x.others) {
					tlb.Insert(mmu.Page{VA: 0x100000 + i<<pageShift, Shift: pageShift})
				}
				if x.drop {
					tlb.Drop(0x5000)
				}
				if p := c.FindPage(tlb, 0x5123, exec); p != nil {
					found, pa = true, p.Offset(0x5123)
					c.FindPage(tlb, 0x5123, exec) // it is in front now
				}
			})
			require.That(t, found == x.found && took == x.want && (!found || pa == 0x7123), "%s, of code %t: found %t at %#x, in %d", x.name, exec, found, pa, took)
		}
	}
}

// TestLoadsBetweenInstructions waits for loads that no instruction makes, as of the table by which an exception finds its handler.
func TestLoadsBetweenInstructions(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyHalt})
		c.goFrom(0x1000)
		for _, want := range []clock.Ticks{cfg.Memory - cfg.L1D.Latency, 0} {
			c.Drain(0)
			start := c.Now()
			Load[uint64](&c.Core, 0x8000)
			c.DrainAccesses()
			require.Equal(t, c.Now()-start, want, "a load between two instructions takes")
			c.DrainAccesses()
			require.Equal(t, c.Now()-start, want, "to wait again takes")
		}
	})
}

// TestRepriced prices an instruction by its operands each time that it is executed, also behind times at which it had its usual price.
func TestRepriced(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		cfg.Classes["add"] = cpus.Cost{Issue: 5000, Latency: 5000, Port: "alu", InOrder: true}
		cfg.Classes["do"] = cpus.Cost{Issue: 1000, Latency: 1000, Port: "alu", InOrder: true}
		cfg.Classes["load"] = cfg.Classes["do"]
		c := newToy(t, cfg, 1<<20, 0x1000)
		class := uint8(toyDo)
		toyWrite(c, 0x1000, [4]byte{toyNop}, c.do(Ends, func() { c.Reprice(toyDo, class) }), [4]byte{toyHalt})
		c.goFrom(0x1000)
		took := c.goFrom(0x1000)
		for i, x := range []struct {
			class uint8
			more  clock.Ticks
		}{{toyDo, 0}, {toyAdd, 4000}, {toyAdd, 4000}, {toyDo, 0}, {toyAdd, 4000}, {toyLoad, 0}} {
			for range 5 { // until the memo knows it
				class = x.class
				require.Equal(t, c.goFrom(0x1000)-took, x.more, "class %d, the time %d: an instruction takes more by", x.class, i)
			}
		}
		class = toyAdd
		c.Untimed(7, soon)
		require.Equal(t, c.goFrom(0x1000), 21, "without a cost model three instructions take")
	})
}

// wrong reports whether the branch that a function makes is predicted wrong.
func wrong(c *toy, branch func()) bool {
	before := c.Counts.Mispredicts
	branch()
	return c.Counts.Mispredicts != before
}

// TestReturnStack predicts returns by a stack that forgets the oldest ones. A call whose return is not executed is taken off it.
func TestReturnStack(t *testing.T) {
	for _, x := range []struct {
		name     string
		calls    int
		unwound  int
		returns  []int // to the call of a number
		predicts []bool
	}{
		{"nested", 3, 0, []int{2, 1, 0}, []bool{true, true, true}},
		{"out of order", 3, 0, []int{2, 0, 1}, []bool{true, false, false}},
		{"skipped", 3, 0, []int{1, 0}, []bool{false, false}},
		{"unwound", 3, 1, []int{1, 0}, []bool{true, true}},
		{"unwound too far", 1, 3, []int{0}, []bool{false}},
		{"one too many", 17, 14, []int{2, 1, 0}, []bool{true, true, false}},
		{"empty", 0, 0, []int{0}, []bool{false}},
	} {
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
		at := func(call int) uint64 { return 0x2000 + 16*uint64(call) }
		for i := range x.calls {
			c.Called(at(i))
		}
		for range x.unwound {
			c.Unwind()
		}
		for i, to := range x.returns {
			got := !wrong(c, func() { c.ReturnTo(at(to)) })
			require.That(t, got == x.predicts[i] && c.R[PC] == at(to), "%s: return %d is predicted %t", x.name, i, got)
		}
		c.Called(at(1)) // what was taken off an empty stack is no debt
		require.That(t, !wrong(c, func() { c.ReturnTo(at(1)) }), "%s: the next call's return is predicted wrong", x.name)
	}
}

// TestReturnsByTarget nests calls deeper than the stack. Where returns without an address go by targets, they are right once the history is that
// of a round before.
func TestReturnsByTarget(t *testing.T) {
	const deep, stack = 20, 16
	for byTarget, want := range map[bool][3]int{false: {deep - stack, deep - stack, deep - stack}, true: {deep - stack, deep - stack - 1, 0}} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.Predictor.ReturnStack, cfg.Predictor.ReturnsByTarget = stack, byTarget
		c := newToy(t, cfg, 1<<20, 0x1000)
		var got [3]int
		for round := range got {
			for i := range uint64(deep) {
				c.Called(0x2000 + 16*i)
			}
			for i := range uint64(deep) {
				c.R[PC] = 0x3000 + 16*i
				to := 0x2000 + 16*(deep-1-i)
				if wrong(c, func() { c.ReturnTo(to) }) {
					got[round]++
				}
				require.Equal(t, c.R[PC], to, "where the return leads")
			}
		}
		require.Equal(t, got, want, "wrong returns by round, by targets: %v", byTarget)
	}
}

// TestIndirectTargets learns targets by address and history, and forgets them at a barrier.
func TestIndirectTargets(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
	branch := func(to uint64) bool {
		c.predictor.history = 0
		c.R[PC] = 0x1000
		return wrong(c, func() { c.Indirect(to) })
	}
	for i, x := range []struct {
		to    uint64
		wrong bool
	}{{0x2000, true}, {0x2000, false}, {0x3000, true}, {0x3000, false}, {0x2000, true}} {
		require.Equal(t, branch(x.to), x.wrong, "branch %d to %#x is predicted wrong", i, x.to)
	}
	c.ForgetTargets()
	require.That(t, branch(0x2000) && !branch(0x2000), "behind a barrier a target is known, or is not learned again")
}

// TestPlainBranches says when host code may train on a branch by itself: not with a loop buffer, and not without a cost model.
func TestPlainBranches(t *testing.T) {
	for _, buffer := range []int{0, 16} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.FrontEnd.LoopBuffer, cfg.FrontEnd.LoopWindows = buffer, buffer/4
		c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyHalt})
		require.Equal(t, c.Plain(), buffer == 0, "with a loop buffer of %d, branches are plain", buffer)
		c.Untimed(1, soon)
		c.goFrom(0x1000)
		require.That(t, !c.Plain() && c.IsUntimed(), "without a cost model they are plain")
		c.Called(0x2000)
		c.Unwind()
		c.Untimed(0, 0)
		c.goFrom(0x1000)
		require.That(t, c.Plain() == (buffer == 0) && !c.IsUntimed(), "with one again, they are plain: %t", c.Plain())
		require.That(t, wrong(c, func() { c.ReturnTo(0x2000) }), "a call without a cost model is remembered")
	}
}

// TestUnwindWithoutACostModel leaves the stack of returns as it was.
func TestUnwindWithoutACostModel(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000, [4]byte{toyHalt})
	c.Called(0x2000)
	c.Untimed(1, soon)
	c.goFrom(0x1000)
	c.Unwind()
	c.Untimed(0, 0)
	c.goFrom(0x1000)
	require.That(t, !wrong(c, func() { c.ReturnTo(0x2000) }), "a return address is gone")
}

// TestPlacesWithoutACostModel finds operands in RAM that one translation answers. Bytes that were decoded are not to be written there.
func TestPlacesWithoutACostModel(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
	c.offset = 0x10000
	toyWrite(c, 0x11000, adding(1)...)
	for _, page := range []uint64{0x1000, 0x8000} {
		Load[uint8](&c.Core, page)
		Store(&c.Core, page, get[uint8](c.ram, page+0x10000))
	}
	Load[uint8](&c.Core, 0x9000)
	c.goFrom(0x1000)
	for _, x := range []struct {
		va, n           uint64
		reads, writable bool
	}{
		{0x8000, 8, true, true},
		{0x8ff8, 8, true, true},
		{0x8ff9, 8, false, false},
		{0x8f00, 0x100, true, true},
		{0x8f00, 0x101, false, false},
		{0x9000, 8, true, false},
		{0xa000, 8, false, false},
		{0x1000, 4, true, false},
		{0x1800, 4, true, false},
		{0x8000 + microEntries<<pageShift, 1, false, false},
	} {
		r, w := c.Readable(x.va, x.n), c.Writable(x.va, x.n)
		require.That(t, (r != nil) == x.reads && (w != nil) == x.writable, "%d bytes at %#x: readable %t, writable %t", x.n, x.va, r != nil, w != nil)
		if w != nil {
			putAt(w, uint8(0x5a))
			require.That(t, getAt[uint8](r) == 0x5a && get[uint8](c.ram, x.va+0x10000) == 0x5a, "a place of %#x is another one", x.va)
		}
	}
}

// TestAtOnce says when no cache looks at single accesses: without a cost model, if caches do not decide what is executed.
func TestAtOnce(t *testing.T) {
	plain, incoherent := newToy(t, toyConfig(cpus.Window, 64), 1<<20, codeAt, adding(1)...), incoherentToys(t, 1, true, nil)[0]
	for _, untimed := range []bool{false, true} {
		if untimed {
			plain.Untimed(1, soon)
			incoherent.Untimed(1, soon)
		}
		plain.adds()
		incoherent.adds()
		require.That(t, plain.AtOnce() == untimed && !incoherent.AtOnce(), "untimed %t: accesses at once: %t, with an incoherent cache %t", untimed, plain.AtOnce(), incoherent.AtOnce())
	}
}

// TestIncoherentCachesWithoutACostModel takes the steps by which a store reaches a fetch without a cost model: caches decide all the same.
func TestIncoherentCachesWithoutACostModel(t *testing.T) {
	c := incoherentToys(t, 1, false, nil)[0]
	c.Untimed(1, soon)
	c.adds()
	c.patch(2)
	require.Equal(t, c.adds(), 1, "a store that is held back adds")
	c.CleanData(codeAt)
	c.InvalidateFetch(codeAt)
	c.SyncContext()
	require.Equal(t, c.adds(), 2, "behind all steps, code adds")
}

// TestCachesOfOneIncoherentCPU compares times and misses of random loads and stores with a CPU whose instruction cache is coherent: the directory that
// it needs costs nothing.
func TestCachesOfOneIncoherentCPU(t *testing.T) {
	for _, l3 := range []bool{false, true} {
		small := func(cfg *cpus.Config) {
			cfg.L1D.Size, cfg.L1D.Ways = 1<<10, 2
			cfg.L2 = mmu.CacheConfig{Size: 4 << 10, Ways: 4, Line: 64, Latency: 20 * clock.PerCycle}
			if l3 {
				cfg.L3 = mmu.CacheConfig{Size: 16 << 10, Ways: 4, Line: 64, Latency: 90 * clock.PerCycle}
			}
		}
		a := incoherentToys(t, 1, false, small)[0]
		cfg := toyConfig(cpus.Window, 64)
		small(cfg)
		b := cachedToys(t, cfg, 1)
		for i := range uint64(4000) {
			pa := i * i * 2654435761 >> 7 & 0x7fff
			if at, want := a.lookup, b.lookup; i%3 == 0 {
				require.Need(t, a.lookupStore(pa) == b.lookupStore(pa), "L3 %t: store %d takes another time", l3, i)
			} else {
				require.Need(t, at(pa) == want(pa), "L3 %t: load %d takes another time", l3, i)
			}
			line := a.line(pa)
			_, may, _ := a.Cached(line)
			require.Need(t, !may || a.dir.Owns(0, line), "a line may be written that the CPU does not own")
		}
		require.That(t, a.Counts == b.Counts && a.Counts.L2Misses > 100, "L3 %t: %+v, want %+v", l3, a.Counts, b.Counts)
		for line := range uint32(0x8000 / 64) {
			require.That(t, a.holds(line) || !a.dir.Owns(0, line), "L3 %t: line %d is in no cache, and owned", l3, line)
		}
	}
}
