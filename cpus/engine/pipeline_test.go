package engine

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// pipedCore renames four operations a cycle, which go to two pipes for computation, two for loads and one for data of
// stores. It fetches and decodes without a bound.
func pipedCore() *cpus.Config {
	cfg := toyConfig(cpus.Window, 64)
	cfg.Width, cfg.Window, cfg.FrontEnd = 4, 96, cpus.FrontEnd{}
	cfg.BackEnd.On = true
	cfg.Pipes = map[string][]string{"alu": {"a", "b"}, "load": {"c", "d"}, "store": {"e"}, "branch": {"b"}, "slow": {"a"}}
	for _, n := range toyISA().Classes {
		cfg.Classes[n] = cpus.Cost{Ops: 1}
	}
	cfg.Classes["add"] = cpus.Cost{Ops: 1, Latency: clock.PerCycle, To: [cpus.MaxUops]string{"alu"}}
	cfg.Classes["count"] = cpus.Cost{Ops: 1, Latency: clock.PerCycle, To: [cpus.MaxUops]string{"branch"}}
	cfg.Events["taken_branch"], cfg.Events["store_fill"] = 0, 0
	return cfg
}

// TestPipes times what fills slots, pipes, the scheduler and the front end: 80 times a few instructions.
func TestPipes(t *testing.T) {
	nop, add, chain, load := [4]byte{toyNop}, [4]byte{toyAdd, 1, 2, 4}, [4]byte{toyAdd, 1, 1, 4}, [4]byte{toyLoad, 3, 20, 0}
	to := func(ops int, latency clock.Ticks, sets ...string) cpus.Cost {
		k := cpus.Cost{Ops: ops, Latency: latency}
		copy(k.To[:], sets)
		return k
	}
	fused := func(c *cpus.Config) { c.Fusion.Pairs = map[string][]string{"add": {"count"}} }
	timePipes(t, []pipesCase{
		{name: "four a cycle, without a pipe", body: [][4]byte{nop}, cycles: 20},
		{name: "eight a cycle", body: [][4]byte{nop}, change: func(c *cpus.Config) { c.Width = 8 }, cycles: 10},
		{name: "seven a cycle", body: [][4]byte{nop, nop, nop, nop, nop, nop, nop}, change: func(c *cpus.Config) { c.Width = 7 }, cycles: 80},
		{name: "two of four operations retire", body: [][4]byte{nop}, change: func(c *cpus.Config) { c.BackEnd.Retire = 2 }, cycles: 40},
		{name: "two pipes", body: [][4]byte{add}, cycles: 40},
		{name: "a chain", body: [][4]byte{chain}, cycles: 80},
		{name: "two pipes and two for loads", body: [][4]byte{add, load, add, load}, cycles: 80},
		{
			name: "the pipe that fewer wait for", body: [][4]byte{nop, add}, cycles: 80,
			change: func(c *cpus.Config) { c.Classes["nop"] = to(1, 0, "slow") },
		},
		{
			name: "three operations, two of one pipe", body: [][4]byte{nop}, cycles: 160,
			change: func(c *cpus.Config) { c.Classes["nop"] = to(3, 0, "slow", "slow", "alu") },
		},
		{
			name: "a unit behind a pipe", body: [][4]byte{nop}, cycles: 240,
			change: func(c *cpus.Config) {
				k := to(1, 0, "alu")
				k.Unit, c.Ports["divider"] = "divider", 3*clock.PerCycle
				c.Classes["nop"] = k
			},
		},
		{
			name: "independent work does not pass a full scheduler", body: [][4]byte{chain, add, add, add}, cycles: 80 * 2,
			change: func(c *cpus.Config) { c.BackEnd.Scheduler = 4 },
		},
		{name: "two decoders", body: [][4]byte{nop}, change: func(c *cpus.Config) { c.FrontEnd.Decoders = 2 }, cycles: 40},
		{
			name: "three of the operation cache", body: [][4]byte{nop, nop, nop}, cycles: 80,
			change: func(c *cpus.Config) {
				c.OpCache, c.FrontEnd.Queue = keptDecoded, 40
			},
		},
		{
			name: "a window of the operation cache a cycle, which nothing hides", body: [][4]byte{nop, nop, nop}, cycles: 90, // 15 windows of 16
			change: func(c *cpus.Config) { c.OpCache = keptDecoded },
		},
		{name: "five slots", body: [][4]byte{nop, nop, nop, add, count(7, 0)}, cycles: 100},
		{name: "four slots for a fused pair", body: [][4]byte{nop, nop, nop, add, count(7, 0)}, change: fused, cycles: 82}, // 81.25: one pair of 16 lies in two lines
		{name: "no pair with an immediate", body: [][4]byte{nop, nop, nop, {toyAdd, 1, 2, 2}, count(7, 0)}, change: fused, cycles: 100},
		{name: "a fused pair starts at once", body: [][4]byte{{toyAdd, 7, 7, 0}, count(7, 0)}, change: fused, cycles: 80},
		{
			name: "unlaminated", body: [][4]byte{{toyLoad, 3, 20, 4}, nop, nop, nop}, cycles: 100, // five slots a body
			change: func(c *cpus.Config) { c.FrontEnd.Unlaminates = []string{"load"} },
		},
		{
			name: "unlaminated as the first of a cycle", body: [][4]byte{{toyLoad, 3, 20, 4}, nop, nop, nop}, cycles: 160,
			change: func(c *cpus.Config) { c.FrontEnd.Unlaminates, c.FrontEnd.UnlaminatesFirst = []string{"load"}, 1 },
		},
		{
			name: "unlaminated as one of the first two", body: [][4]byte{{toyLoad, 3, 20, 4}, nop, nop, nop}, cycles: 120,
			change: func(c *cpus.Config) { c.FrontEnd.Unlaminates, c.FrontEnd.UnlaminatesFirst = []string{"load"}, 2 },
		},
	})
}

// TestPipesOfLaterCores times stores, renamed loads and taken branches as cores have them since Ice Lake and Golden Cove.
func TestPipesOfLaterCores(t *testing.T) {
	store, load := [4]byte{toyStore, 3, 20, 0}, [4]byte{toyLoad, 3, 20, 0}
	taken := func(fast int) func(*cpus.Config) {
		return func(c *cpus.Config) {
			c.OpCache, c.FrontEnd.Queue, c.FrontEnd.FastBranches = keptDecoded, 40, fast
			c.Events["taken_branch"] = clock.PerCycle
		}
	}
	pairs := func(c *cpus.Config) {
		c.BackEnd.StorePairs, c.Pipes["store"] = true, []string{"e", "f"}
	}
	forwards6 := func(c *cpus.Config) { c.Events["store_forward"] = 6 * clock.PerCycle }
	timePipes(t, []pipesCase{
		{name: "taken branches", body: [][4]byte{jump(0)}, change: taken(0), cycles: 160},
		{name: "taken branches of which four in a line cost no bubble", body: [][4]byte{jump(0)}, change: taken(4), cycles: 140}, // 28 for a line of 16
		{name: "stores to two lines", body: [][4]byte{{toyStore, 3, 20, 0}, {toyStore, 3, 20, 64}}, change: pairs, cycles: 160},
		{name: "stores to one line", body: [][4]byte{{toyStore, 3, 20, 0}, {toyStore, 3, 20, 8}}, change: pairs, cycles: 80},
		{name: "stores to two lines each, of which none is the second of a cycle", body: [][4]byte{{toyStore, 3, 20, 60}, {toyStore, 3, 20, 8}}, change: pairs, cycles: 240},
		{name: "a store and a load of it, in a chain", body: [][4]byte{store, load}, change: forwards6, cycles: 480},
		{
			name: "a load that is renamed as a copy of a store's data", body: [][4]byte{store, load}, cycles: 80,
			change: func(c *cpus.Config) {
				forwards6(c)
				c.BackEnd.Renames = []string{"load"}
			},
		},
		{
			name: "none by another register than the stack pointer", body: [][4]byte{store, load}, cycles: 480,
			change: func(c *cpus.Config) {
				forwards6(c)
				c.BackEnd.Renames, c.BackEnd.RenamesStack = []string{"load"}, true
			},
		},
		{
			name: "none with an index", body: [][4]byte{{toyStore, 3, 20, 4}, {toyLoad, 3, 20, 4}}, cycles: 480,
			change: func(c *cpus.Config) {
				forwards6(c)
				c.BackEnd.Renames = []string{"load"}
			},
		},
	})
}

// TestRenamedByRegisters renames loads that go by the registers of the store that they find, as long as nothing has set these.
func TestRenamedByRegisters(t *testing.T) {
	same := func(c *cpus.Config) {
		c.Events["store_forward"] = 6 * clock.PerCycle
		c.BackEnd.Renames, c.BackEnd.RenamesSame = []string{"load"}, true
	}
	store, load, nop := [4]byte{toyStore, 3, 20, 0}, [4]byte{toyLoad, 3, 20, 0}, [4]byte{toyNop}
	byIndex := [][4]byte{{toyStore, 3, 20, 4}, {toyLoad, 3, 20, 4}}
	timePipes(t, []pipesCase{
		{name: "the same base", body: [][4]byte{store, load}, change: same, cycles: 80},
		{name: "and what sets another register", body: [][4]byte{store, {toyAdd, 6, 7, 0}, load}, change: same, cycles: 80},
		{name: "what sets the base", body: [][4]byte{store, {toyAdd, 20, 20, 0}, load}, change: same, cycles: 480},
		{name: "behind the load", body: [][4]byte{store, load, {toyAdd, 20, 20, 0}}, change: same, cycles: 80},
		{name: "another base of the same place", body: [][4]byte{store, {toyLoad, 3, 21, 0}}, change: same, cycles: 480},
		{name: "an index, too", body: byIndex, change: same, cycles: 80},
		{name: "a nop in front", body: [][4]byte{nop, nop, nop, nop, {toyAdd, 6, 7, 0}}, cycles: 100},
	})
}

// TestBuffersOfStores times stores that share buffers of 32 bytes, and parts of words, whose rest takes the first level's latency.
func TestBuffersOfStores(t *testing.T) {
	at := func(offsets ...byte) (body [][4]byte) {
		for _, n := range offsets {
			body = append(body, [4]byte{toyStore, 3, 20, n})
		}
		return body
	}
	words := func(bytes int) func(*cpus.Config) {
		return func(c *cpus.Config) {
			c.Pipes["store"], c.BackEnd.StoreBlock, c.BackEnd.StoreWord = []string{"e", "f"}, 32, bytes
			c.L1D.Latency = 4 * clock.PerCycle
		}
	}
	timePipes(t, []pipesCase{
		{name: "two stores a cycle get into a buffer", body: at(0, 24, 16), change: words(0), cycles: 120},
		{name: "one buffer a cycle", body: at(0, 32), change: words(0), cycles: 160},
		{name: "three stores of a buffer are written beside two of others", body: at(32, 0, 8, 16, 64), change: words(0), cycles: 240},
		{name: "a store of two buffers", body: at(28), change: words(0), cycles: 160},
		{name: "parts of words without check bits", body: at(1, 64), change: words(0), cycles: 160},
		{name: "a part of a word that was written in front of the last buffer", body: at(1, 64), change: words(4), cycles: 400},
		{name: "four buffers before", body: at(1, 64, 128, 192), change: words(4), cycles: 560},
		{name: "five, so that it was read ahead", body: at(1, 64, 128, 192, 224), change: words(4), cycles: 400},
		{name: "two parts, of which one is read while the other waits", body: at(1, 65), change: words(4), cycles: 400},
		{name: "stores that complete the words", body: at(1, 0, 8, 64), change: words(4), cycles: 160},
		{name: "whole words", body: at(4, 64), change: words(4), cycles: 160},
	})
}

// TestPipesByGroups times operations of which those that are renamed together get another pipe each.
func TestPipesByGroups(t *testing.T) {
	slow, add, chain, next := [4]byte{toyNop}, [4]byte{toyAdd, 1, 2, 4}, [4]byte{toyAdd, 1, 1, 4}, [4]byte{toyAdd, 3, 1, 4}
	other, none := [4]byte{toyLoad, 3, 20, 0}, [4]byte{toyTime, 22}
	groups := func(in bool, ops int, alu ...string) func(*cpus.Config) {
		return func(c *cpus.Config) {
			c.BackEnd.InGroups, c.BackEnd.AtStart, c.Pipes["alu"] = in, !in, alu
			k := cpus.Cost{Ops: ops}
			for i := range ops {
				k.To[i] = "slow"
			}
			c.Classes["nop"] = k
		}
	}
	timePipes(t, []pipesCase{
		{name: "the first free pipe", body: [][4]byte{slow, add, add}, change: groups(false, 1, "a", "b"), cycles: 120},
		{name: "an addition has the only pipe of what is behind it", body: [][4]byte{slow, add, add}, change: groups(true, 1, "a", "b"), cycles: 160},
		{name: "the other pipe is the first choice", body: [][4]byte{slow, add, add}, change: groups(true, 1, "b", "a"), cycles: 120},
		{name: "one instruction that needs a pipe twice", body: [][4]byte{slow}, change: groups(true, 2, "b", "a"), cycles: 160},
		{
			name: "groups that two pipes end in turns", body: [][4]byte{slow, slow, none, none, none, other, other, none, none, none}, cycles: 320,
			change: func(c *cpus.Config) {
				groups(true, 1, "a", "b")(c)
				c.Pipes["other"] = []string{"b"}
				c.Classes["load"] = cpus.Cost{Ops: 1, To: [cpus.MaxUops]string{"other"}}
			},
		},
		{name: "a chain that finds its pipe", body: [][4]byte{chain, next}, change: groups(true, 1, "a", "b"), cycles: 80},
	})
}

// TestOperandsThatCountLess times chains through an index that is needed a cycle later, and of what waits for flags alone.
func TestOperandsThatCountLess(t *testing.T) {
	flags, other := [4]byte{toyAdd, 9, 9, 4}, [4]byte{toyAdd, 7, 7, 4}
	add := func(index clock.Ticks, breaks ...string) func(*cpus.Config) {
		return func(c *cpus.Config) {
			k := c.Classes["add"]
			k.Latency, k.Index, c.BackEnd.Breaks = 2*clock.PerCycle, index, breaks
			c.Classes["add"] = k
		}
	}
	timePipes(t, []pipesCase{
		{name: "a chain", body: [][4]byte{other}, change: add(0), cycles: 160},
		{name: "through an index", body: [][4]byte{other}, change: add(clock.PerCycle), cycles: 80},
		{name: "what waits for flags alone is no chain", body: [][4]byte{other}, change: add(0, "add"), cycles: 40},
		{name: "but one of flags", body: [][4]byte{flags}, change: add(0, "add"), cycles: 160},
	})
}

// TestWindowsThatAreNotKept times windows of code with 16 operations.
func TestWindowsThatAreNotKept(t *testing.T) {
	kept := func(uops, predecode int) func(*cpus.Config) {
		return func(c *cpus.Config) {
			c.OpCache, c.FrontEnd = keptDecoded, cpus.FrontEnd{FetchBytes: 32, Queue: 40, Predecode: predecode, Decoders: 6}
			c.OpCache.WindowUops = uops
		}
	}
	nops := [][4]byte{{toyNop}, {toyNop}, {toyNop}}
	timePipes(t, []pipesCase{
		{name: "any number is kept, three a cycle", body: nops, change: kept(0, 2), cycles: 80},
		{name: "no more than are kept", body: nops, change: kept(16, 2), cycles: 80},
		{name: "more, whose lengths are found two a cycle", body: nops, change: kept(15, 2), cycles: 120},
		{name: "one a cycle", body: nops, change: kept(15, 1), cycles: 240},
		{name: "all of a window", body: nops, change: kept(15, 0), cycles: 60},
	})
}

// TestDeferredConstants times additions whose readers add a constant of theirs.
func TestDeferredConstants(t *testing.T) {
	chain, other := [4]byte{toyAdd, 7, 7, 4}, [4]byte{toyAdd, 7, 8, 4}
	defers := func(classes ...string) func(*cpus.Config) {
		return func(c *cpus.Config) {
			k := c.Classes["add"]
			k.Latency, k.Deferred = 0, 2*clock.PerCycle
			c.Classes["add"], c.BackEnd.Defers = k, classes
		}
	}
	reader := [4]byte{toyAdd, 10, 7, 4}
	more := func(n int) func(*cpus.Config) {
		return func(c *cpus.Config) {
			defers("add")(c)
			k := c.Classes["add"]
			k.DeferredOps = n
			c.Classes["add"] = k
		}
	}
	timePipes(t, []pipesCase{
		{name: "nothing is deferred", body: [][4]byte{chain}, change: defers(), cycles: 40},
		{name: "a reader adds the constant", body: [][4]byte{chain}, change: defers("add"), cycles: 160},
		{name: "a register without one", body: [][4]byte{other}, change: defers("add"), cycles: 40},
		{name: "an addition and a reader", body: [][4]byte{other, reader}, change: more(0), cycles: 80},
		{name: "a reader is three operations", body: [][4]byte{other, reader}, change: more(2), cycles: 160},
		{name: "none where there is no constant", body: [][4]byte{other, other}, change: more(2), cycles: 80},
		{name: "a register that was written since", body: [][4]byte{chain, {toyLoad, 7, 20, 0}}, change: defers("add"), cycles: 40},
	})
}

// TestFlagsOfTwoOperations times chains through a register with flags, from which the latency is longer, and through another one.
func TestFlagsOfTwoOperations(t *testing.T) {
	longer := func(c *cpus.Config) {
		k := c.Classes["add"]
		k.Flags = 2 * clock.PerCycle
		c.Classes["add"] = k
	}
	flags, other := [4]byte{toyAdd, 9, 9, 4}, [4]byte{toyAdd, 7, 7, 4}
	timePipes(t, []pipesCase{
		{name: "a chain through flags", body: [][4]byte{flags}, cycles: 80},
		{name: "from which the latency is longer", body: [][4]byte{flags}, change: longer, cycles: 240},
		{name: "a chain through another register", body: [][4]byte{other}, change: longer, cycles: 80},
	})
}

// TestLateFlags times chains through a register with flags, which come late to what is renamed in one group with their operation.
func TestLateFlags(t *testing.T) {
	late := func(names ...string) func(*cpus.Config) {
		return func(c *cpus.Config) {
			k := c.Classes["add"]
			k.LateFlags, c.BackEnd.LateFlags = clock.PerCycle, names
			c.Classes["add"] = k
		}
	}
	flags, other, nop := [4]byte{toyAdd, 9, 9, 4}, [4]byte{toyAdd, 7, 7, 4}, [4]byte{toyNop}
	timePipes(t, []pipesCase{
		{name: "flags of no operation are late", body: [][4]byte{flags}, change: late(), cycles: 80},
		{name: "three of four are of one group", body: [][4]byte{flags}, change: late("add"), cycles: 140},
		{name: "two of four are", body: [][4]byte{flags, nop}, change: late("add"), cycles: 120},
		{name: "one of four is", body: [][4]byte{flags, nop, nop}, change: late("add"), cycles: 100},
		{name: "none is", body: [][4]byte{flags, nop, nop, nop}, change: late("add"), cycles: 80},
		{name: "a register without flags", body: [][4]byte{other}, change: late("add"), cycles: 80},
		{name: "three of four pairs are of one group", body: [][4]byte{flags, count(9, 0)}, cycles: 140, change: func(c *cpus.Config) {
			late("add")(c)
			c.Fusion.Pairs = map[string][]string{"add": {"count"}}
			k := c.Classes["count"]
			k.LateFlags = clock.PerCycle
			c.Classes["count"] = k
		}},
	})
}

// TestPipesOfLoads times loads that meet in columns of a line, and loads of two lines, on three pipes.
func TestPipesOfLoads(t *testing.T) {
	at := func(offset uint8) [4]byte { return [4]byte{toyLoad, 3, 20, offset} }
	three := func(column int, twice bool) func(*cpus.Config) {
		return func(c *cpus.Config) {
			c.Pipes["load"], c.BackEnd.LoadColumn, c.BackEnd.SplitTwice = []string{"c", "d", "f"}, column, twice
			c.Events["split_line"] = 7 * clock.PerCycle
		}
	}
	overlap := func(c *cpus.Config) {
		three(0, true)(c)
		c.BackEnd.SplitOverlap = true
	}
	timePipes(t, []pipesCase{
		{name: "three loads a cycle", body: [][4]byte{at(0), at(0), at(0)}, change: three(0, false), cycles: 80},
		{name: "two loads a cycle of a column", body: [][4]byte{at(0), at(0), at(0)}, change: three(4, false), cycles: 120},
		{name: "of columns that overlap", body: [][4]byte{at(0), at(4), at(0), at(4), at(0), at(4)}, change: three(4, false), cycles: 240},
		{name: "of the same columns of other lines", body: [][4]byte{at(0), at(64), at(128)}, change: three(4, false), cycles: 120},
		{name: "a third load of another column", body: [][4]byte{at(0), at(0), at(8)}, change: three(4, false), cycles: 80},
		{name: "of the same column where columns are wider", body: [][4]byte{at(0), at(0), at(8)}, change: three(16, false), cycles: 120},
		{name: "in turns", body: [][4]byte{at(0), at(8), at(0), at(8), at(0), at(8)}, change: three(4, false), cycles: 160},
		{name: "two columns of which two loads each read one", body: [][4]byte{at(4), at(0), at(8)}, change: three(4, false), cycles: 80},
		{name: "loads of two lines", body: [][4]byte{at(60), at(8), at(16)}, change: three(0, false), cycles: 80},
		{name: "loads of two lines that take their pipes twice", body: [][4]byte{at(60), at(8), at(16)}, change: three(4, true), cycles: 107},
		{name: "of which a cycle has one", body: [][4]byte{at(60)}, change: three(4, true), cycles: 80},
		{name: "or any number, without columns", body: [][4]byte{at(60)}, change: overlap, cycles: 54}, // two places in three pipes,
	})
}

// keptDecoded delivers three operations a cycle.
var keptDecoded = cpus.OpCache{Sets: 64, Ways: 8, Uops: 8, Window: 64, Entries: 6, Rate: 3}

// pipesCase is a body that takes some cycles on a changed core.
type pipesCase struct {
	name   string
	body   [][4]byte
	change func(cfg *cpus.Config)
	cycles int64 // of 80 bodies
}

// timePipes holds bodies against their cycles.
func timePipes(t *testing.T, all []pipesCase) {
	t.Helper()
	for _, c := range all {
		cfg := pipedCore()
		if c.change != nil {
			c.change(cfg)
		}
		got := bodiesTime(t, cfg, c.body, 160) - bodiesTime(t, cfg, c.body, 80)
		require.That(t, got == c.cycles, "%s: %d cycles, want %d", c.name, got, c.cycles)
	}
}
