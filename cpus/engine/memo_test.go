package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// memos are ways to remember, by name. The first remembers nothing.
var memos = []struct {
	name string
	set  func(c *Core)
}{
	{"off", func(c *Core) { c.memo.limit = 0 }},
	{"as built", func(*Core) {}},
	{"at once", func(c *Core) { c.memo.runs = 0 }},
	{"eight places", func(c *Core) { c.memo.runs, c.memo.limit = 0, 8 }},
	{"one hash", func(c *Core) { c.memo.runs, c.memo.narrow = 0, ^uint64(0) }},
	{"at rest", func(c *Core) { c.memo.pause = 1 << 31 }},
	{"two pairs", func(c *Core) {
		c.memo.runs = 0
		c.memo.forget()
		c.memo.others, c.memo.pairs = c.memo.others[:2], 63
	}},
}

// anyCore is a window model of a random shape.
func anyCore(rng *rand.Rand) *cpus.Config {
	cfg := toyConfig(cpus.Window, 64)
	cfg.Width = []int{1, 2, 3, 4, 6}[rng.IntN(5)]
	cfg.Window = []int{1, 5, 24, 96, 512}[rng.IntN(5)]
	cfg.StoreBuffer = 1 + rng.IntN(12)
	cfg.LoadQueue = []int{0, 0, 1, 3, 12}[rng.IntN(5)]
	if rng.IntN(4) == 0 {
		cfg.Model = cpus.Scoreboard
	}
	cfg.FrontEnd.ComplexFirst = rng.IntN(2) == 0
	cfg.FrontEnd.Queue = rng.IntN(20)
	cfg.FrontEnd.LoopBuffer, cfg.FrontEnd.LoopWindows = rng.IntN(20), 1+rng.IntN(4)
	if rng.IntN(3) == 0 {
		cfg.Groups = cpus.Groups{On: true, BranchSlots: rng.IntN(min(cfg.Width, 3))}
		cfg.FrontEnd.ComplexFirst = false
		cfg.Window = cfg.Width * []int{1, 5, 20, 80}[rng.IntN(4)]
	}
	for _, name := range toyISA().Classes {
		k := cfg.Classes[name]
		slot := clock.PerCycle / clock.Ticks(cfg.Width)
		k.Issue = slot * clock.Ticks(rng.IntN(3))
		k.Latency = clock.Ticks(rng.IntN(300))
		k.Occupancy = clock.Ticks(rng.IntN(3)) * 70
		k.Port = []string{"", "alu", "load", "store", "branch"}[rng.IntN(5)]
		k.Slots = slot * clock.Ticks(rng.IntN(3))
		k.Latency2 = clock.Ticks(rng.IntN(2) * rng.IntN(300))
		k.Unit = []string{"", "alu", "load", "store", "branch"}[rng.IntN(5)]
		k.InOrder, k.Serialize = rng.IntN(12) == 0, rng.IntN(12) == 0
		k.Alone = rng.IntN(12) == 0 || max(k.Issue, k.Slots) > slot*clock.Ticks(cfg.Width-cfg.Groups.BranchSlots)
		cfg.Classes[name] = k
	}
	for _, name := range eventNames {
		cfg.Events[name] = clock.Ticks(rng.IntN(900))
	}
	if cfg.Model == cpus.Window && !cfg.Groups.On && rng.IntN(2) == 0 {
		anyPipes(rng, cfg)
	}
	if rng.IntN(2) == 0 {
		cfg.Prefetch = anyPrefetch(rng)
		cfg.L1D.Size = 1 << 10 // so that there is something to bring
		cfg.L1D.Ways = 2
		cfg.L3 = mmu.CacheConfig{Size: 4 << 10, Ways: 2, Line: 64, Latency: 60 * clock.PerCycle, Inclusive: rng.IntN(2) == 0}
		cfg.L3.Exclusive = !cfg.L3.Inclusive && rng.IntN(2) == 0
		for level, most := range []int{50, 300, 900} {
			cfg.PerLine[level], cfg.PerStored[level] = clock.Ticks(rng.IntN(2)*rng.IntN(most)), clock.Ticks(rng.IntN(2)*rng.IntN(2*most))
		}
		cfg.Predictor.Tagged = cpus.TaggedTables{Tables: 1 + rng.IntN(6), Bits: 5, TagBits: 8, Shortest: 3, Longest: 40}
	}
	cfg.Predictor.TargetsByDirections = rng.IntN(2) == 0
	cfg.Predictor.ReturnsByTarget = cfg.StoreBuffer%2 == 0
	if g := &cfg.Predictor.Tagged; cfg.BackEnd.On {
		g.Override = clock.Ticks(g.Tables%3) * 2 * clock.PerCycle
	}
	return cfg
}

// anyPrefetch describes random prefetchers, of which some may be missing.
func anyPrefetch(rng *rand.Rand) cpus.Prefetch {
	p := cpus.Prefetch{InFlight: 1 + rng.IntN(20)}
	p.Next = cpus.Stream{Streams: rng.IntN(3), Ahead: 1 + rng.IntN(2)}
	p.Stream = cpus.Stream{Streams: rng.IntN(5), Ahead: 1 + rng.IntN(20)}
	p.Stride = cpus.Stride{Entries: rng.IntN(2) << rng.IntN(7), Most: 2048}
	p.Pair.Bytes = rng.IntN(2) * 128
	p.CrossesPages = rng.IntN(2) == 0
	p.WrongPath = rng.IntN(2) * 64
	return p
}

// anyPipes describes a core by random pipes.
func anyPipes(rng *rand.Rand, cfg *cpus.Config) {
	cfg.Width = 1 + rng.IntN(cpus.MaxWidth)
	cfg.BackEnd = cpus.BackEnd{On: true, Retire: rng.IntN(9), Scheduler: rng.IntN(2) * (1 + rng.IntN(30)), AtStart: rng.IntN(2) == 0, InGroups: rng.IntN(3) == 0}
	cfg.FrontEnd.Decoders = rng.IntN(5)
	if rng.IntN(2) == 0 {
		cfg.OpCache = cpus.OpCache{Sets: 1 << rng.IntN(4), Ways: 1 + rng.IntN(3), Uops: 1 + rng.IntN(8), Window: 32 << rng.IntN(2), Entries: 1 + rng.IntN(4), Rate: 1 + rng.IntN(9), WindowUops: rng.IntN(3) * rng.IntN(20)}
	}
	cfg.Fusion = cpus.Fusion{Pairs: map[string][]string{"add": {"count"}}, Immediate: rng.IntN(2) == 0}
	cfg.FrontEnd.Unlaminates = [][]string{nil, {"load"}, {"load", "store"}}[rng.IntN(3)]
	cfg.FrontEnd.UnlaminatesFirst = rng.IntN(4)
	cfg.FrontEnd.Predecode = rng.IntN(6)
	cfg.FrontEnd.FastBranches = rng.IntN(3)
	cfg.FrontEnd.FoldsStack = rng.IntN(2) == 0
	cfg.BackEnd.StorePairs = rng.IntN(2) == 0
	cfg.BackEnd.LoadColumn = []int{0, 4, 8}[rng.IntN(3)]
	cfg.BackEnd.Defers = [][]string{nil, {"add"}, {"count"}}[rng.IntN(3)]
	cfg.BackEnd.LateFlags = [][]string{nil, {"add"}}[rng.IntN(2)]
	cfg.BackEnd.SplitTwice = rng.IntN(2) == 0
	cfg.BackEnd.ForwardsInside = rng.IntN(2) == 0
	if !cfg.BackEnd.StorePairs {
		cfg.BackEnd.StoreBlock, cfg.BackEnd.StoreWord = 32, 4*rng.IntN(2)
	}
	cfg.BackEnd.ConflictStores = []int{0, 8, 128}[rng.IntN(3)]
	cfg.Events[cpus.EventClear] = clock.Ticks(1 + rng.IntN(900))
	cfg.BackEnd.Renames, cfg.BackEnd.RenamesSame = [][]string{nil, {"load"}, {"load"}}[rng.IntN(3)], false
	if cfg.BackEnd.Renames != nil {
		cfg.BackEnd.RenamesSame = rng.IntN(2) == 0
	}
	cfg.FrontEnd.FusesNops = rng.IntN(2) == 0
	if cfg.BackEnd.ConflictStores != 0 { // loads get ahead of stores
		cfg.Window, cfg.LoadQueue, cfg.StoreBuffer, cfg.BackEnd.Renames, cfg.BackEnd.RenamesSame = 96, 0, 40, nil, false
	}
	cfg.Pipes = map[string][]string{}
	for _, n := range append(Ports(), "store_address") {
		for range 1 + rng.IntN(3) {
			cfg.Pipes[n] = append(cfg.Pipes[n], string(rune('a'+rng.IntN(12))))
		}
	}
	for _, name := range toyISA().Classes {
		k := cfg.Classes[name]
		k.Port, k.Unit, k.Ops = "", "", 1+rng.IntN(4)
		k.LateFlags = clock.Ticks(rng.IntN(2) * rng.IntN(200))
		k.Deferred = clock.Ticks(rng.IntN(2) * rng.IntN(200))
		for i := range rng.IntN(4) {
			k.To[i] = []string{"alu", "load", "store", "branch"}[rng.IntN(4)]
		}
		if cfg.BackEnd.ConflictStores != 0 {
			k.InOrder, k.Serialize, k.Latency = false, false, clock.Ticks(rng.IntN(3000))
		}
		if cfg.Classes[name].Unit != "" {
			k.Unit, cfg.Ports["divider"] = "divider", 300
		}
		cfg.Classes[name] = k
	}
	cfg.BackEnd.StoreQueue, cfg.BackEnd.MissBuffers = rng.IntN(2) == 0, []int{0, 1, 3, 24}[rng.IntN(4)]
}

// rounds is a program of loops within loops, with loads and stores that meet each other.
func rounds(rng *rand.Rand) [][4]byte {
	var code [][4]byte
	for outer := range 3 {
		r := uint8(1 + outer)
		code = append(code, [4]byte{toyAdd, r, 0, uint8(20 + rng.IntN(60))})
		start := len(code)
		for range 1 + rng.IntN(3) {
			code = append(code, [4]byte{toyAdd, 5, 0, uint8(1 + rng.IntN(6))})
			inner := len(code)
			for range rng.IntN(12) {
				a, b, at := uint8(8+rng.IntN(6)), uint8(8+rng.IntN(6)), uint8(rng.IntN(40))
				wide := func() uint8 { return 20 | narrow*uint8(rng.IntN(4)/3) }
				code = append(code, [][][4]byte{
					{{toyAdd, 21, 20, at & 1}, {toyStore, a, 21, at}, {toyLoad, b, wide(), at}},
					{{toyAdd, a, b, at}},
					{{toyLoad, a, wide(), at}},
					{{toyStore, a, wide(), at}},
					{{toyAdd, 20, 20, 1}},
					{{toyFault}},
				}[min(rng.IntN(40), 36)%6]...)
			}
			code = append(code, count(5, int16(inner-len(code)-1)))
		}
		code = append(code, count(r, int16(start-len(code)-1)))
	}
	return append(code, [4]byte{toyHalt})
}

// apart has rounds of a program meet lines that are new, by longer steps.
func apart(rng *rand.Rand, code [][4]byte) [][4]byte {
	for i := range code {
		if code[i] == ([4]byte{toyAdd, 20, 20, 1}) && rng.IntN(2) == 0 {
			code[i][3] = uint8(rng.IntN(200))
		}
	}
	return code
}

// TestMemoChangesNothing runs random programs on random cores with every way to remember.
func TestMemoChangesNothing(t *testing.T) {
	found, cleared := make([]uint64, len(memos)), clock.Ticks(0)
	for seed := range uint64(hosttools.Part(t, "random programs with a memo", 150, 30)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg, code := anyCore(rng), apart(rng, rounds(rng))
		var plain *toy
		for i, way := range memos {
			c := toyAt(t, cfg, code)
			way.set(&c.Core)
			if seed%3 == 0 {
				c.also[toyStore], c.also[toyLoad] = Pushes, Pops
			}
			turns := rand.New(rand.NewPCG(seed, 3))
			for !c.Halted {
				if i%2 == 0 || c.memo.pause != 0 { // Steps has no way of its own for a memo at rest
					c.Run(soon)
				} else {
					c.Steps(1+turns.IntN(500), soon)
				}
			}
			if i == 0 {
				plain = c
			}
			sameTime(t, fmt.Sprintf("seed %d, %s", seed, way.name), plain, c)
			found[i] += c.memo.found
			cleared += c.step.Stalls.Clear
		}
	}
	require.That(t, cleared != 0, "no load was wrong to go ahead of a store")
	require.That(t, found[0] == 0 && found[1] != 0 && found[2] > found[1] && found[3] != 0 && found[4] != 0, "found %d blocks", found)
}

// sameTime is same with all counters and stalls, and the model's state as it is seen from outside.
func sameTime(t *testing.T, what string, a, b *toy) {
	t.Helper()
	same(t, what, a, b)
	a.restoreState()
	b.restoreState()
	if a.conflicts != nil {
		require.Need(t, *a.conflicts == *b.conflicts, "%s: other loads wait for stores", what)
	}
	require.Need(t, a.Counts == b.Counts && a.step.Stalls == b.step.Stalls, "%s: %+v %+v, want %+v %+v", what, b.Counts, b.step.Stalls, a.Counts, a.step.Stalls)
	if x, y := frozen(a), frozen(b); !slices.Equal(x, y) {
		t.Fatalf("%s: the model is at %x, want %x", what, y, x)
	}
	if x, y := max(a.retire, a.dispatch, a.drained), max(b.retire, b.dispatch, b.drained); x != y {
		t.Fatalf("%s: drained at %d, want %d", what, y, x)
	}
}

func frozen(c *toy) []uint64 {
	c.restoreState()
	w, _ := c.freeze(nil)
	return w
}

// TestMemoOfLongTimes has loops whose blocks, or exceptions in them, take longer than an edge can say: dispatch, retirement, or both.
func TestMemoOfLongTimes(t *testing.T) {
	const long = 1<<32 + 1
	for name, x := range map[string]struct {
		do         cpus.Cost
		mispredict clock.Ticks
		wait       func(c *toy)
	}{
		"repeated":     {do: cpus.Cost{InOrder: true, Issue: 60}, wait: func(c *toy) { c.repeated(long/60, &Pace{Class: toyDo}) }},
		"delivered":    {wait: func(c *toy) { c.EnterException(cpus.OtherException, long, ""); c.LeaveException() }},
		"latency":      {do: cpus.Cost{Latency: long}},
		"mispredicted": {mispredict: long},
	} {
		cfg := toyConfig(cpus.Window, 64)
		cfg.Classes["do"], cfg.Events["mispredict"], cfg.Predictor.HistoryBits = x.do, x.mispredict, 0
		var plain *toy
		for i, way := range memos {
			c := toyAt(t, cfg, nil)
			way.set(&c.Core)
			wait := func() {
				if x.wait != nil {
					x.wait(c)
				}
			}
			toyWrite(c, 0x10f80, [4]byte{toyAdd, 1, 0, 99}, [4]byte{toyAdd, 5, 0, 3}, c.do(Ends|Loads, wait), count(5, -2), [4]byte{toyFault}, count(1, -5), [4]byte{toyHalt})
			toHalt(c, soon)
			if i == 0 {
				plain = c
			}
			sameTime(t, name+", "+way.name, plain, c)
			require.That(t, c.Now() > long, "%s: it takes %d", name, c.Now())
		}
	}
}

// TestMemoOfNeighbours has two CPUs fight for lines by turns.
func TestMemoOfNeighbours(t *testing.T) {
	for seed := range uint64(hosttools.Part(t, "random programs of two CPUs", 40, 10)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		cfg, code := anyCore(rng), apart(rng, rounds(rng))
		var plain []*toy
		for _, way := range memos {
			m, d := mmu.NewMemory(1<<20), mmu.NewDirectory(2)
			all := []*toy{toyBeside(m, cfg, 0, nil, d)}
			all = append(all, toyBeside(m, cfg, 1, all[0], d))
			for i, in := range code {
				m.Write(0x10f80+uint64(4*i), in[:])
			}
			for i, c := range all {
				way.set(&c.Core)
				c.R[PC], c.R[20] = 0x10f80, 256<<10+uint64(i)*24
			}
			turns := rand.New(rand.NewPCG(seed, 5))
			for !all[0].Halted || !all[1].Halted {
				c := all[turns.IntN(2)]
				if turns.IntN(2) == 0 {
					c.Steps(1+turns.IntN(60), soon)
				} else {
					c.Run(c.Now() + clock.PerCycle*clock.Ticks(turns.IntN(600)))
				}
			}
			if plain == nil {
				plain = all
			}
			for i := range all {
				sameTime(t, fmt.Sprintf("seed %d, cpu %d, %s", seed, i, way.name), plain[i], all[i])
			}
		}
	}
}

// TestMemoIsBounded has a CPU of many remember no more than its share.
func TestMemoIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	cfg := anyCore(rng)
	for _, all := range []int{1, 8, 64} {
		c := toyAt(t, cfg, rounds(rng))
		c.memo.init(all)
		c.memo.runs = 0
		c.Run(soon)
		m := &c.memo
		require.That(t, len(m.edges) <= m.limit && len(m.edges) == len(m.nodes) && all*m.most <= max(host.Memo.Blocks, all*memoLeast) && m.limit <= m.most, "%d CPUs: one remembers %d blocks and %d states, limit %d", all, len(m.edges), len(m.nodes), m.limit)
	}
}

// remembered says of each field of the cost models' state how the memo knows it.
var remembered = map[string]string{
	"timing.retire": stated, "timing.dispatch": stated, "timing.entering": stated, "timing.drained": stated,
	"timing.fetched": stated, "windowState.streams": stated, "windowState.moved": stated, "windowState.ready": stated, "windowState.port": stated, "windowState.ring": stated,
	"windowState.stores": stated, "windowState.placed": "what stores count from",
	"windowState.group": stated + ", where there are groups",
	"windowState.pipes": stated + ", where there are any",
	"windowState.loads": stated + ", where there is a queue",
	"windowState.at":    "where the ring begins",

	"windowState.conflicts": given + ", by findStore",
	"windowState.wrote":     "a block that changes it is not remembered",

	"timing.settled": given, "timing.late": given, "timing.repriced": given,

	"timing.window": fixed, "timing.slack": fixed, "timing.queue": fixed, "timing.storeBusy": fixed, "timing.lead": fixed,
	"windowState.slot": fixed, "windowState.loadBusy": fixed, "windowState.fetchMask": fixed,
	"windowState.rob": fixed, "windowState.leastIssue": fixed, "windowState.farthest": fixed,
	"windowState.scoreboard": fixed, "windowState.grouped": fixed, "windowState.width": fixed, "windowState.room": fixed,
	"windowState.stackEngine": fixed, "windowState.zeroIdioms": fixed, "windowState.stack": fixed, "windowState.sink": fixed, "windowState.flags": fixed,

	"timing.predictor": "the model does not look at it",
}

const (
	stated = "freeze and melt"
	given  = "an input of an edge: known and gather"
	fixed  = "of the machine"
)

// TestEveryFieldIsRemembered wants an entry of remembered for every field, and sees that each stated field
// reaches the node's state and comes back.
func TestEveryFieldIsRemembered(t *testing.T) {
	for _, state := range []any{timing{}, windowState{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(state)) {
			name := reflect.TypeOf(state).Name() + "." + f.Name
			if len(f.Index) == 1 && remembered[name] == "" {
				t.Errorf("%s: the memo does not know it; see freeze, melt and gather", name)
			}
		}
	}
	changes := map[string]func(c *toy, i int) int{
		"retire":   func(c *toy, _ int) int { c.retire += 5000; return 1 },
		"dispatch": func(c *toy, _ int) int { c.dispatch++; return 1 },
		"entering": func(c *toy, _ int) int { c.entering = !c.entering; return 1 },
		"streams":  func(c *toy, _ int) int { c.streams = !c.streams; return 1 },
		"moved":    func(c *toy, _ int) int { c.moved = !c.moved; return 1 },
		"drained":  func(c *toy, _ int) int { c.drained += 5000; return 1 },
		"fetched":  func(c *toy, _ int) int { c.fetched += 5000; return 1 },
		"ready": func(c *toy, i int) int {
			if i == int(c.sink) || i == stackAddress { // nothing waits for them
				i = 0
			}
			c.ready[i] += 9000
			return len(c.ready)
		},
		"port": func(c *toy, i int) int { c.port[i] += 9000; return len(c.port) },
		"stores": func(c *toy, i int) int {
			c.stores[(c.placed-uint64(i))&(forwards-1)].commit += 9000
			return int(c.seen)
		},
		"ring": func(c *toy, i int) int { c.ring[i] += 19000; return c.rob },
	}
	for name, change := range changes {
		holdRemembered(t, name, toyConfig(cpus.Window, 64), change)
	}
	queued := toyConfig(cpus.Window, 64)
	queued.LoadQueue = 7
	holdRemembered(t, "loads", queued, func(c *toy, i int) int { c.loads.retired[i] += 90000; return 7 })
	grouped := toyConfig(cpus.Window, 64)
	grouped.Groups.On = true
	changes["group.at"] = func(c *toy, _ int) int { c.group.at -= 30; return 1 }
	changes["group.floor"] = func(c *toy, _ int) int { c.group.floor++; return 1 }
	changes["group.filled"] = func(c *toy, _ int) int { c.group.filled++; return 1 }
	delete(changes, "dispatch") // by a tick it is nothing but the end of a group
	for name, change := range changes {
		holdRemembered(t, "grouped: "+name, grouped, change)
	}
	for name, change := range map[string]func(p *pipeline) int{
		"filled":   func(p *pipeline) int { p.at, p.filled = 6000, 2; return 1 },
		"retired":  func(p *pipeline) int { p.retired = 3; return 1 },
		"supplied": func(p *pipeline) int { p.supplied += 9000; return 1 },
		"group":    func(p *pipeline) int { p.group++; return 1 },
		"schedule": func(p *pipeline) int { p.upTo(100); p.take(1<<3, 6600, true); return 1 },
		"far":      func(p *pipeline) int { p.upTo(100); p.take(1<<3, (100+horizon-1)*clock.PerCycle, true); return 1 },
	} {
		cfg := toyConfig(cpus.Window, 64)
		anyPipes(rand.New(rand.NewPCG(1, 1)), cfg)
		holdRemembered(t, "pipes: "+name, cfg, func(c *toy, _ int) int { return change(c.pipes) })
	}
	bounded := pipedCore()
	bounded.BackEnd.MissBuffers = 3
	holdRemembered(t, "misses", bounded, func(c *toy, i int) int { c.pipes.misses[i] += 90000; return 3 })
	long := pipedCore()
	long.StoreBuffer, long.BackEnd.StoreQueue = cpus.MaxStoreQueue, true
	holdRemembered(t, "long queue", long, changes["stores"])
	holdRemembered(t, "addresses of stores", toyConfig(cpus.Window, 64), func(c *toy, i int) int {
		for i := range c.stores {
			c.stores[i].commit = 19000
		}
		c.stores[i].address = 9000
		return len(c.stores)
	})
}

// TestStatesWithoutWhatCannotMatter has states be equal that differ in a register nothing waits for, or in an entry of the
// reorder buffer that the one before it hides.
func TestStatesWithoutWhatCannotMatter(t *testing.T) {
	state := func(change func(c *toy)) []uint64 {
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
		c.dispatch, c.retire, c.ring[0] = 6000, 20000, 9000
		change(c)
		return frozen(c)
	}
	plain := state(func(*toy) {})
	for name, x := range map[string]struct {
		change func(c *toy)
		same   bool
	}{
		"sink":          {func(c *toy) { c.ready[c.sink] = 9000 }, true},
		"moved pointer": {func(c *toy) { c.ready[stackAddress] = 9000 }, true},
		"register":      {func(c *toy) { c.ready[3] = 9000 }, false},
		"hidden entry":  {func(c *toy) { c.ring[1] = 9000 + c.leastIssue }, true},
		"later entry":   {func(c *toy) { c.ring[1] = 9001 + c.leastIssue }, false},
	} {
		require.Equal(t, slices.Equal(state(x.change), plain), x.same, "%s: states are equal", name)
	}
}

// holdRemembered sees that a change of the model's state reaches the node's and comes back.
func holdRemembered(t *testing.T, name string, cfg *cpus.Config, change func(c *toy, i int) int) {
	t.Helper()
	for i, n := 0, 1; i < n; i++ {
		c := newToy(t, cfg, 1<<20, 0x1000)
		c.dispatch, c.retire, c.drained, c.fetched = 6000, 20000, 20000, 6000
		c.group = groupState{at: 6000, floor: 6030, place: c.rob - 1, filled: 1}
		before := frozen(c)
		n = change(c, i)
		after := frozen(c)
		require.That(t, !slices.Equal(before, after), "%s[%d]: freeze does not see it", name, i)
		d := newToy(t, cfg, 1<<20, 0x1000)
		d.dispatch, d.retire = c.dispatch, c.retire
		d.melt(c.dispatch, after)
		back := frozen(d)
		require.That(t, slices.Equal(back, after), "%s[%d]: frozen as %x, after melting as %x", name, i, after, back)
	}
}
