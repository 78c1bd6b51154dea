package gdb

import (
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// goal says how far a machine is to run.
type goal struct {
	steps bool // to the next instruction
	step  int  // of this CPU
	until *position
	from  clock.Ticks // of until's CPU: all instructions are looked at from then on
	notes bool        // what gdb stops at is noted on the way
}

// hit is a place that gdb stops at. For a watchpoint it is the instruction of the access, and after is the next one.
type hit struct {
	stop
	position
	after position
}

// instance is one run of the machine. Its methods run in the goroutine of that machine, while the player waits. The player
// works while the machine stands still in one of them.
type instance struct {
	p       *player
	m       *sim.Machine
	probes  func() (string, error)
	goal    goal
	stopped chan stop
	resume  chan struct{}
	done    chan error

	origin clock.Ticks // when this run began

	wanted atomic.Bool // gdb wants it to stop
	dead   bool        // the machine is to end
	free   bool        // the machine runs on without a debugger
	over   bool        // the run has ended
	last   stop
	at     position         // where it stands
	all    bool             // every instruction is looked at
	behind map[int]position // the last instruction of each CPU since then
	hit    *hit             // the last one
	access *hit             // by the instruction that runs
	code   []uint64
}

// pollEvery is how often a running machine looks whether gdb wants it to stop.
const pollEvery = 1_000_000 * clock.PerCycle

// attach implements Attach, for the first machine of a run.
func (i *instance) attach(m *sim.Machine, probes func() (string, error)) func(error) {
	if i.m != nil {
		return func(error) {}
	}
	i.m, i.probes, i.origin = m, probes, latest(m)
	i.arm()
	return i.end
}

// arm tells the CPUs what they are to stop for.
func (i *instance) arm() {
	stops := i.stops()
	if all := stops.All; all != i.all {
		i.all, i.behind = all, map[int]position{}
	}
	for n := range i.m.CPUs() {
		stops.At = i.alarm(n)
		i.m.CPU(n).Debug(i, stops)
	}
}

// stops lists the instructions and data that a CPU stops for. Addresses stay in the list when gdb takes breakpoints away, which it does
// whenever the machine stands still: a change costs all decoded code.
func (i *instance) stops() cpus.Stops {
	g := &i.goal
	if g.until != nil && !g.notes {
		return cpus.Stops{All: i.near()}
	}
	var s cpus.Stops
	for _, w := range i.p.watches {
		s.Data = append(s.Data, [2]uint64{w.lo, w.hi})
	}
	for _, pc := range slices.Sorted(maps.Keys(i.p.breaks)) {
		if i.p.breaks[pc] && !slices.Contains(i.code, pc) {
			i.code = append(slices.Clone(i.code), pc)
		}
	}
	s.Code = i.code
	s.All = g.steps || len(s.Data) > 0 || i.near() || i.wanted.Load()
	return s
}

// near reports whether the machine is near the place that it is to stop at.
func (i *instance) near() bool {
	g := &i.goal
	return g.until != nil && i.m.CPU(g.until.cpu).Now() >= g.from
}

// alarm is when a CPU is to come back between two blocks.
func (i *instance) alarm(cpu int) clock.Ticks {
	if i.all {
		return math.MaxInt64
	}
	at := i.m.CPU(cpu).Now() + pollEvery
	if g := &i.goal; g.until != nil && g.until.cpu == cpu {
		at = min(at, g.from)
	}
	return at
}

// Reached implements cpus.Debugger.
func (i *instance) Reached(int) { i.arm() }

// Accessed implements cpus.Debugger.
func (i *instance) Accessed(cpu int, va uint64, n int, write bool) {
	for _, w := range i.p.watches {
		if va < w.hi && w.lo < va+uint64(n) && (w.typ == '4' || write == (w.typ == '2')) {
			i.access = &hit{stop: stop{reason: watched, cpu: cpu, watch: w, addr: max(va, w.lo)}, position: i.at}
			return
		}
	}
}

// Before implements cpus.Debugger.
func (i *instance) Before(cpu int) {
	if i.dead || i.free {
		return
	}
	c, g, found := i.m.CPU(cpu), &i.goal, i.access
	i.access, i.at = nil, position{cpu, c.Completed(), c.Now()}
	there := g.until != nil && i.at == *g.until
	if i.p.breaks[c.PC()] && !there {
		found = &hit{stop: stop{reason: broke, cpu: cpu}, position: i.at}
	}
	if found != nil {
		found.after = i.at
		i.hit = found
	}
	switch {
	case there:
		i.stand(stop{reason: stepped, cpu: cpu})
	case found != nil && g.until == nil:
		i.stand(found.stop)
	case g.steps && g.step == cpu:
		i.stand(stop{reason: stepped, cpu: cpu})
	case i.wanted.Load():
		i.stand(stop{reason: interrupted, cpu: cpu})
	}
	if i.all {
		i.behind[cpu] = i.at
	}
}

// end tells the player that the run has ended, and waits until that is known. A second call does nothing.
func (i *instance) end(err error) {
	if i.over || i.dead || i.free {
		return
	}
	i.over = true
	i.at = position{count: math.MaxUint64, time: latest(i.m)} // no instruction has this number
	for i.m.CPU(i.at.cpu).Now() < i.at.time {
		i.at.cpu++
	}
	st := stop{reason: ended, cpu: i.at.cpu, text: "the run is over"}
	if err != nil {
		st.text = err.Error()
	}
	i.stand(st)
}

// stand has the machine stand still until the player lets it go on.
func (i *instance) stand(st stop) {
	if i.dead || i.free {
		return
	}
	i.wanted.Store(false)
	i.last = st
	i.stopped <- st
	<-i.resume
	if i.dead || i.free {
		i.letGo()
	}
}

// letGo takes the debugger away. A machine that is not wanted any more ends.
func (i *instance) letGo() {
	for n := range i.m.CPUs() {
		i.m.CPU(n).Debug(nil, cpus.Stops{})
		if i.dead {
			i.m.CPU(n).Break()
		}
	}
	if i.dead {
		i.m.Stop(errKilled)
	}
}
