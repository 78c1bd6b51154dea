package races

import (
	"errors"
	"fmt"

	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// errFound ends a machine in which something happened that must not.
var errFound = errors.New("a violation was found")

// An explorer lets a chooser decide who runs, and keeps count of a schedule. It is the policy of one
// machine.
// The machine asks it at every point. Between schedules, and before the first, CPUs take turns.
type explorer struct {
	m       *sim.Machine
	checker *checker
	c       chooser
	limit   uint64 // instructions of a schedule after which it counts as hung
	active  bool   // schedule n is under way
	n       uint64
	// started is told of the beginning of each schedule, or nil.
	started func(n uint64)
	ended   func() // the same of the end

	at    point // the last one, kept so that it need not be made anew
	last  int
	hot   bool   // last has executed a hot instruction since the last point
	spin  bool   // or one of a loop in which it waits
	begun uint64 // instructions of all CPUs when the schedule began
	calls uint64 // that the checker had seen by then
	hits  uint64
	turns int
	nmi   int // the line of the CPUs for NMIs, -1 for none
	// from and yields are where spots of CPUs are counted from: instructions when the schedule began, and stores of Go since.
	from     []uint64
	yields   []uint64
	stored   []uint64 // by CPU, when the schedule began
	bad      *Violation
	covering *covering // nil in a search that does not ask for cells
	// stand, if not nil, has the machine stand still where something was found.
	stand func(error)
}

// Next implements sim.Policy.
// Counting the instructions of all CPUs takes time, so the limit is looked at every 64 turns.
func (e *explorer) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	p := e.look(m, runnable)
	e.hot, e.spin = false, false
	if !e.active {
		e.last = after(p) // booting is the same for every policy, so that schedule 0 begins in one state
		return e.last, 100
	}
	if e.turns++; e.turns%64 == 0 && e.steps() > e.limit {
		e.found(Hung, -1, 0, "the schedule does not end: "+e.where())
	}
	if what, struck := e.c.strike(p); what != nothing {
		e.strike(what, struck)
	}
	e.last, steps = e.c.next(p)
	return e.last, steps
}

// look fills in the point at which the machine is.
func (e *explorer) look(m *sim.Machine, runnable []int) *point {
	p := &e.at
	p.last, p.runnable, p.spin = e.last, runnable, e.spin
	p.hot = e.hot || e.last >= 0 && e.checker.code.hot(m.CPU(e.last).PC())
	return p
}

// timekeeper is the explorer of a plan, which says when time passes. In front of the first schedule all instructions take some.
type timekeeper struct {
	*explorer
	plan *bounded
	seen uint64 // instructions for which time has passed in front of the first schedule
}

// Passed implements sim.Timekeeper. A turn is over before what happens at its end.
func (e *timekeeper) Passed(m *sim.Machine, runnable []int) clock.Ticks {
	if e.active {
		return e.plan.passed(e.look(m, runnable))
	}
	n := e.instructions()
	t := clock.FromCycles(int64(n - e.seen))
	e.seen = n
	return t
}

// strike has a timer interrupt or an NMI come to a CPU. It is taken before the next instruction, or as soon as it can be.
func (e *explorer) strike(what strike, cpu int) {
	switch {
	case cpu >= e.m.CPUs():
	case what == tickStrike:
		e.m.Expire(cpu)
	case e.nmi >= 0:
		e.m.Signal(cpu, e.nmi)
	}
}

// yield makes a point in the middle of a Go function of the kernel, behind what it has stored for others to see.
func (e *explorer) yield() {
	if e.active && e.bad == nil {
		e.hot = true
		e.yields[e.last]++
		e.m.Yield()
	}
}

// storeRoom is the number of stores that a CPU can hold back, of the order of a small core's store buffer.
const storeRoom = 16

// drain says how many of the stores that a CPU holds back are seen from now on: between two schedules all.
func (e *explorer) drain(cpu, held int) int {
	if !e.active {
		return held
	}
	return e.c.drain(cpu, held)
}

// sees says whether a CPU sees a store of another one from now on, or whether a store leaves the buffer of its own CPU.
func (e *explorer) sees(cpu, by int, number uint64) bool {
	return !e.active || number <= e.stored[by] || e.c.sees(cpu, by, number-e.stored[by])
}

// instructions counts the instructions of all CPUs since boot.
func (e *explorer) instructions() uint64 {
	n := uint64(0)
	for i := range e.m.CPUs() {
		n += e.m.CPU(i).Counters().Instructions
	}
	return n
}

// steps counts the instructions of this schedule.
func (e *explorer) steps() uint64 { return e.instructions() - e.begun }

// begin starts schedule n.
// Counts go on over all schedules of a machine, so the difference belongs to this one.
func (e *explorer) begin(n uint64) {
	e.n = n
	e.c.begin(n)
	e.calls, e.hits = e.checker.calls.returns, e.checker.calls.hits
	e.begun, e.turns, e.active = e.instructions(), 0, true
	e.mark()
	if e.covering != nil {
		e.covering.take()
	}
	if e.started != nil {
		e.started(n)
	}
}

// mark has spots counted from here on. A policy that counts in spots is told how to ask for them.
func (e *explorer) mark() {
	n := e.m.CPUs()
	e.from, e.yields, e.stored = make([]uint64, n), make([]uint64, n), make([]uint64, n)
	for i := range e.from {
		e.from[i], e.stored[i] = e.m.CPU(i).Counters().Instructions, e.m.Stored(i)
	}
	if x, ok := e.c.(interface {
		follows(spots func(cpu int) spot)
	}); ok {
		x.follows(e.spot)
	}
}

// spot is how far a CPU has come.
func (e *explorer) spot(cpu int) spot {
	return spot{e.m.CPU(cpu).Counters().Instructions - e.from[cpu], e.yields[cpu]}
}

// end ends it and returns what came out.
func (e *explorer) end(n uint64) Outcome {
	e.active = false
	if e.ended != nil {
		e.ended()
	}
	o := Outcome{
		N: n, Steps: e.steps(), Violation: e.bad,
		Calls: e.checker.calls.returns - e.calls, Hits: e.checker.calls.hits - e.hits,
	}
	if e.covering != nil {
		o.Covered, o.Pairs = e.covering.take()
	}
	return o
}

// passed implements reporter: behind every instruction of a class there is a point.
// The break ends the turn of the CPU, so that the machine asks who goes on.
func (e *explorer) passed(cpu int, spin bool) {
	e.hot, e.spin = e.hot || !spin, spin
	e.m.CPU(cpu).Break()
}

// found implements reporter. It notes the first violation and ends the machine. What is found before the first schedule is
// kept for it.
// Later ones are mostly consequences of the first.
func (e *explorer) found(kind Kind, cpu int, pc uint64, text string) {
	if e.bad != nil {
		return
	}
	e.bad = &Violation{Kind: kind, CPU: cpu, Step: e.steps(), PC: pc, Text: text}
	if e.stand != nil {
		e.stand(errors.New(e.bad.String()))
	}
	e.m.Stop(errFound)
}

// where says where every CPU is.
func (e *explorer) where() string {
	s := ""
	for i := range e.m.CPUs() {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("cpu %d at %s", i, e.m.Image().SymbolText(e.m.CPU(i).PC()))
	}
	return s
}
