package cpustest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/state"
)

// disturbance is a way in which the host goes about a machine, of which nothing shows in the guest.
type disturbance struct {
	name     string
	host     func() // settings of the host beside those that are usual
	observed int    // instructions: none, at some addresses, all by blocks, or all
	breaks   int    // an observer breaks behind one instruction in so many
	forgets  int    // one turn in so many begins with CPUs that have forgotten what they had decoded
	restores int    // how often a machine is made from the state of this one, and goes on in its place
	cuts     bool   // turns are made of several
}

// What is observed.
const (
	nobody = iota
	some
	blocks
	everything
)

func early()     { host.Code.Blocks = 1 }
func functions() { host.Code.Off, host.Memo.Blocks = true, 0 }

var disturbances = []disturbance{
	{name: "functions", host: functions},
	{name: "host's code, late"},
	{name: "host's code, early", host: early},
	{name: "memo of all", host: func() { early(); host.Memo.Runs = 0 }},
	{name: "memo of little", host: func() { early(); host.Memo.Blocks, host.Memo.Runs = 8, 0 }},
	{name: "functions and memo", host: func() { host.Code.Off, host.Memo.Runs = true, 0 }},
	{name: "little room for code", host: func() { early(); host.Decoded.Base, host.Decoded.Share, host.Decoded.Least = 0, 1<<30, 1<<17 }},
	{name: "cuts", cuts: true, host: early},
	{name: "forgetting", forgets: 20, host: early},
	{name: "forgetting, functions", forgets: 3, host: functions},
	{name: "restored", restores: 9, host: early},
	{name: "observed", observed: everything},
	{name: "observed in part", observed: some, host: early},
	{name: "observed by blocks", observed: blocks},
	{name: "observed by blocks, early", observed: blocks, breaks: 9, host: early},
	{name: "broken off", observed: everything, breaks: 9},
	{name: "restored, cut and broken off", observed: some, breaks: 9, restores: 5, cuts: true},
}

// length is how long a machine runs.
const length = 80_000 * clock.PerCycle

// Other seeds give other programs.
var (
	firstChurn = flag.Uint64("churn", 0, "seed of the first random program of TestHostDecidesNothing")
	churns     = flag.Uint64("churns", 4, "random programs of TestHostDecidesNothing")
)

// HostDecidesNothing runs machines of one to four CPUs with random programs, which build makes by a seed, in every way that the
// host may go about them: how soon code is generated and what of it forgotten, in one piece or several, from a snapshot, observed.
// Registers, memory, times and counters are the same, at several points on the way. By the seed turns are by time or by
// instructions, and the first half without a cost model. Span has addresses of code.
func HostDecidesNothing[C cpus.CPU](t *testing.T, span [2]uint64, build func(t *testing.T, n int, seed uint64) *Rig[C]) {
	var seeds []uint64
	for seed := *firstChurn; seed < *firstChurn+*churns; seed++ {
		seeds = append(seeds, seed)
	}
	if *firstChurn == 0 { // these have cores with pipes, prefetchers and tagged predictors
		seeds = append(seeds, hosttools.Share(t, "further programs", 4, []uint64{24, 36, 48, 60})...)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			hostDecidesNothing(t, span, seed, func() *Rig[C] { return build(t, 1+int(seed%4), seed) })
		})
	}
}

func hostDecidesNothing[C cpus.CPU](t *testing.T, span [2]uint64, seed uint64, build func() *Rig[C]) {
	memo, code, room := host.Memo, host.Code, host.Decoded
	usual := func() { host.Memo, host.Code, host.Decoded = memo, code, room }
	defer usual()
	var want []view
	for _, d := range slices.Concat(disturbances[:1], hosttools.Share(t, "ways in which a host runs a program", 2, disturbances[1:])) {
		usual()
		if d.host != nil {
			d.host()
		}
		x := &disturbed[C]{t: t, d: &d, r: build(), build: build, rng: rand.New(rand.NewPCG(seed, 5)), span: span}
		x.begin(seed)
		got := x.run()
		if want == nil {
			want = got
			x.lively()
			continue
		}
		for i := range want {
			if diff := want[i].unlike(&got[i]); diff != "" {
				t.Errorf("%s, %d of %d: %s", d.name, i+1, len(want), diff)
				break
			}
		}
	}
}

// disturbed is a machine that is run in some way.
type disturbed[C cpus.CPU] struct {
	t        *testing.T
	d        *disturbance
	r        *Rig[C]
	build    func() *Rig[C]
	rng      *rand.Rand
	span     [2]uint64
	restores []clock.Ticks // when
	steps    *rand.Rand    // says how many instructions a turn has, when turns are by instructions
}

// begin prepares a run.
func (x *disturbed[C]) begin(seed uint64) {
	for range x.d.restores {
		x.restores = append(x.restores, clock.Ticks(x.rng.Int64N(int64(length))))
	}
	slices.Sort(x.restores)
	kind := rand.New(rand.NewPCG(seed, 7))
	if kind.IntN(3) == 0 {
		x.steps = rand.New(rand.NewPCG(seed, 6))
	}
	if kind.IntN(2) == 0 {
		for _, c := range x.r.CPUs {
			c.Untimed(3*clock.PerCycle/2, length/2)
		}
	}
	x.watch()
}

// lively fails where a CPU has done too little for a difference to show.
func (x *disturbed[C]) lively() {
	x.t.Helper()
	for i, c := range x.r.CPUs {
		n, raised := c.Counters(), uint64(0)
		for _, k := range n.Exceptions {
			raised += k
		}
		if n.Instructions < 1000 || n.Branches < 50 || raised < 10 {
			x.t.Errorf("cpu %d: %d instructions, %d branches, %d exceptions: too little to see", i, n.Instructions, n.Branches, raised)
		}
	}
}

// points is how often a machine is looked at.
const points = 4

func (x *disturbed[C]) run() (seen []view) {
	for i := range clock.Ticks(points) {
		for end := length * (i + 1) / points; ; {
			x.disturb()
			if !x.r.turn(end, x.turn) {
				break
			}
		}
		seen = append(seen, x.r.view())
	}
	return seen
}

// disturb does what comes before a turn.
func (x *disturbed[C]) disturb() {
	if d := x.d; d.forgets != 0 && x.rng.IntN(d.forgets) == 0 {
		x.forget()
	}
	for len(x.restores) > 0 && x.r.plan[x.r.soonest()].at >= x.restores[0] {
		if x.restores = x.restores[1:]; x.r.Kept != nil {
			x.restore()
		} else {
			x.forgetAll()
		}
	}
}

// forgetful is an engine that can forget what it has decoded.
type forgetful interface {
	Keep()
	ForgetTranslations()
	ForgetCode()
}

// forget has one CPU forget, or all and the memory too, which then knows no more of code than a new one.
func (x *disturbed[C]) forget() {
	r := x.r
	if x.rng.IntN(2) == 0 {
		c := any(r.CPUs[x.rng.IntN(len(r.CPUs))]).(forgetful)
		c.Keep()
		c.ForgetTranslations()
		c.ForgetCode()
		return
	}
	x.forgetAll()
}

func (x *disturbed[C]) forgetAll() {
	for _, c := range x.r.CPUs {
		c := any(c).(forgetful)
		c.Keep()
		c.ForgetTranslations()
		c.ForgetCode()
	}
	clear(x.r.Memory.CodeMap())
}

// restore goes on with another machine, made from the state of this one as package sim does it.
func (x *disturbed[C]) restore() {
	old, r := x.r, x.build()
	from, to := old.pieces(), r.pieces()
	for range 2 {
		for i := range from {
			b, err := state.Append(nil, from[i])
			if err == nil {
				_, err = state.Read(b, to[i])
			}
			if err != nil {
				x.t.Fatal(err)
			}
		}
		copy(r.Memory.Raw(), old.Memory.Raw())
		for _, c := range r.CPUs {
			r.Restored(c)
		}
	}
	r.rigState = old.rigState
	for i, l := range r.lines {
		l.up = old.lines[i].up
	}
	x.r = r
	x.watch()
}

// pieces holds the state of a machine beside its memory.
func (r *Rig[C]) pieces() (all []any) {
	if r.Directory != nil {
		all = append(all, r.Directory)
	}
	for _, c := range r.CPUs {
		all = append(all, r.Kept(c))
	}
	return all
}

// turn lets a CPU run up to a time, in several pieces where the way has them.
func (x *disturbed[C]) turn(c C, limit clock.Ticks) (e cpus.Exit) {
	if x.steps != nil {
		return x.stepped(c, limit)
	}
	if x.d.cuts {
		for range x.rng.IntN(4) {
			if left := limit - c.Now(); left > 1 {
				if e = x.piece(c, c.Now()+1+clock.Ticks(x.rng.Int64N(int64(left)))); e.Reason != cpus.Limit || x.r.acted {
					return e
				}
			}
		}
		if c.Now() >= limit {
			return e
		}
	}
	return x.piece(c, limit)
}

// stepped executes some instructions, as many in each way.
func (x *disturbed[C]) stepped(c C, limit clock.Ticks) cpus.Exit {
	for left := 1 + x.steps.IntN(20); ; {
		n, e := c.Steps(left, limit)
		if left -= n; left <= 0 || e.Reason != cpus.Broken {
			return e
		}
	}
}

// piece is one run, which goes on when an observer has broken it off.
func (x *disturbed[C]) piece(c C, limit clock.Ticks) cpus.Exit {
	for {
		if e := c.Run(limit); e.Reason != cpus.Broken {
			return e
		}
	}
}

// watch has the machine be observed, where the way says so.
func (x *disturbed[C]) watch() {
	for _, c := range x.r.CPUs {
		o := &breaker{x.rng, x.d.breaks, c}
		if x.steps != nil {
			o.breaks = 0 // where a turn of instructions ends, interrupts may come: an observer that ends one chooses
		}
		switch x.d.observed {
		case some:
			c.ObserveCode(o, [][2]uint64{x.span}, false)
		case blocks:
			c.Observe(&byBlocks{*o})
		case everything:
			c.Observe(o)
		}
	}
}

// byBlocks is such an observer that may be told of blocks, but for one in eight.
type byBlocks struct{ breaker }

// Block implements cpus.BlockObserver.
func (b *byBlocks) Block(pc uint64, _ []byte) bool { return pc>>2%8 != 0 }

// breaker is an observer that breaks behind one instruction in so many.
type breaker struct {
	rng    *rand.Rand
	breaks int
	cpu    cpus.CPU
}

// Step implements cpus.Observer.
func (b *breaker) Step(*cpus.Step) {
	if b.breaks != 0 && b.rng.IntN(b.breaks) == 0 {
		b.cpu.Break()
	}
}
