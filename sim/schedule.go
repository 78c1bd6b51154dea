package sim

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// activity says what a CPU does, as far as choosing the next one to run asks.
type activity uint8

const (
	parked  activity = iota // not started by the board
	running                 // has instructions to execute
	asleep                  // halted until an interrupt comes
)

// schedule decides which CPU executes next, and when events happen between.
//
// Time is one: an event of time t happens when every running CPU has reached t, and the CPU that is
// furthest behind runs next, ties by number. It runs until it is lookahead in front of the one that is
// then furthest behind. Lookahead is a quarter of the shortest time in which one CPU can learn of another's
// doing, so that no CPU is shown an effect before its cause, no interprocessor interrupt comes late, and
// a handshake takes the time of its parts; only the block of instructions, or the call into Go, in which a
// CPU crosses a limit may lead it beyond.
// CPUs that are parked or asleep have no time of their own and cost nothing.
type schedule struct {
	ready     runQueue // the running CPUs by time
	state     []activity
	asleepAt  []clock.Ticks // when a CPU was last found halted with an interrupt pending
	slept     []clock.Ticks // how long a CPU has been halted or parked, since the machine was made
	current   int           // the CPU whose turn it is, -1 between turns
	now       clock.Ticks   // of the last event, or turn
	ipi       clock.Ticks   // latency of interprocessor interrupts
	lookahead clock.Ticks
	longest   clock.Ticks // a turn, see longestTurn
	cut       cut
	choice    []int // the running CPUs in order, for a policy
	stale     bool  // choice must be made anew
	gaveWay   bool  // a native function has yielded, so that the turn ends
}

// cut is a turn that an observer has ended together with the run. If there is another run, it begins with the rest of the turn.
type cut struct {
	turn  bool
	cpu   int
	limit clock.Ticks
}

func (s *schedule) init(cfg *Config) {
	s.ready.init(cfg.CPUs)
	s.state = make([]activity, cfg.CPUs)
	s.asleepAt, s.slept = make([]clock.Ticks, cfg.CPUs), make([]clock.Ticks, cfg.CPUs)
	for i := range s.asleepAt {
		s.asleepAt[i] = -1
	}
	s.current = -1
	s.longest = longestTurn
	s.ipi = cfg.CPU.Events[cpus.EventIPI]
	s.lookahead = max(min(s.ipi, cfg.CPU.Events[cpus.EventTransfer])/4, minLookahead)
}

// minLookahead keeps machines whose description makes CPUs hear of each other at once from switching
// between them after every instruction.
const minLookahead = 20 * clock.PerCycle

// Now returns the present time: of the CPU whose turn it is, within a native call; of the event that
// happens; otherwise of the last turn or event. CPUs run apart from each other, by up to lookahead,
// so that the calls of two CPUs may see it go back a little.
func (m *Machine) Now() clock.Ticks {
	if m.current >= 0 {
		return m.cpus[m.current].Now()
	}
	return m.now
}

// Slept is how long a CPU has waited for interrupts, up to the last end of Run. Differences tell; a machine that goes on from a
// kept state begins anew.
func (m *Machine) Slept(cpu int) clock.Ticks { return m.slept[cpu] }

// Run starts the CPUs at the image's entry and runs until sim_main returns, something fails, or the
// budget is used up.
func (m *Machine) Run() error {
	if err := m.checkNatives(); err != nil {
		return err
	}
	defer m.release()
	if m.cfg.Attach != nil {
		end := m.cfg.Attach(m)
		defer func() { end(m.err) }()
	}
	for !m.done && !m.halted() {
		if m.cfg.Policy != nil {
			m.chosenTurn()
		} else {
			m.timedTurn()
		}
	}
	m.hideStores()
	m.catchUp(m.now)
	return m.err
}

// timedTurn lets the next event happen, or the CPU run that is furthest behind.
func (m *Machine) timedTurn() {
	if m.cut.turn {
		m.cut.turn = false
		if m.state[m.cut.cpu] == running {
			m.turn(m.cut.cpu, m.cut.limit)
			return
		}
	}
	i, ok := m.ready.first()
	if t, due := m.events.Next(); due && (!ok || t <= m.ready.time[i]) {
		m.happen(t)
		return
	}
	if !ok {
		m.Stop(m.stuck())
		return
	}
	if m.cpus[i].Now() >= m.cfg.Budget {
		m.Stop(m.overBudget())
		return
	}
	m.turn(i, min(m.horizon(), m.ready.time[i]+m.longest))
}

// longestTurn has a CPU that nothing else concerns come back to Run now and then, which may be told to go no further. The host
// needs less than a second for it. The next turn is that CPU's again and goes on where this one ended, so that it changes
// nothing: beside other CPUs that run, turns are shorter by far.
const longestTurn = 10_000_000 * clock.PerCycle

// turn lets a CPU run up to a time.
func (m *Machine) turn(i int, limit clock.Ticks) {
	c := m.cpus[i]
	m.current = i
	e := c.Run(limit)
	m.handle(i, e)
	if e.Reason == cpus.Broken && m.done {
		m.cut = cut{true, i, limit}
	}
	m.now, m.current = c.Now(), -1
	if m.state[i] == running {
		m.ready.put(i, c.Now())
	}
}

// horizon is how far the CPU that is furthest behind may run. A device may plan an event for a
// nearer time when the CPU stores to it, so such a store ends the turn.
func (m *Machine) horizon() clock.Ticks {
	limit := m.cfg.Budget
	if t, ok := m.events.Next(); ok {
		limit = min(limit, t)
	}
	if j, ok := m.ready.second(); ok {
		limit = min(limit, m.ready.time[j]+m.lookahead)
	}
	return limit
}

// happen runs the first event, which is of time t.
func (m *Machine) happen(t clock.Ticks) {
	if t >= m.cfg.Budget {
		m.Stop(m.overBudget())
		return
	}
	m.now = t
	if _, f, ok := m.events.Pop(); ok {
		f()
	}
}

// handle does what a CPU stopped for.
func (m *Machine) handle(i int, e cpus.Exit) {
	switch e.Reason {
	case cpus.Native:
		m.native(i)
	case cpus.Halted:
		m.idle(i)
	case cpus.Shutdown:
		m.Stop(fmt.Errorf("cpu %d: %s; %s", i, e.Detail, m.where(i)))
	}
}

// idle lets a halted CPU sleep. An interrupt that is pending and was not taken makes it look once
// more; when it still does not take it, interrupts are disabled. It looks once at one time, which
// asleepAt keeps; otherwise a CPU with interrupts disabled would be asked for ever.
func (m *Machine) idle(i int) {
	c := m.cpus[i]
	if m.hardware.Interrupts(i).Pending() {
		before := c.Now()
		if m.keeper != nil { // its instructions tell moments apart
			before = clock.Ticks(c.Counters().Instructions)
		}
		if m.asleepAt[i] != before {
			m.asleepAt[i] = before
			c.Interrupt()
			return
		}
		if len(m.cpus) == 1 {
			m.Stop(fmt.Errorf("cpu %d halted with interrupts disabled; %s", i, m.where(i)))
			return
		}
	}
	m.become(i, asleep)
	if m.sleeps != nil {
		m.sleeps(i)
	}
}

// become changes what a CPU does.
func (m *Machine) become(i int, a activity) {
	m.state[i], m.stale = a, true
	if a == running {
		m.ready.put(i, m.cpus[i].Now())
	} else {
		m.ready.drop(i)
	}
}

// wake ends the sleep of a halted CPU, now.
func (m *Machine) wake(i int) {
	if m.state[i] == asleep {
		m.advance(i, m.Now())
		m.become(i, running)
	}
}

// advance brings a CPU that is behind t there.
func (m *Machine) advance(i int, t clock.Ticks) {
	if c := m.cpus[i]; t > c.Now() {
		m.slept[i] += t - c.Now()
		c.Advance(t - c.Now())
	}
}

// catchUp books the time up to t on the CPUs that slept through it. Run calls it at its end, so that
// the accounts of all CPUs cover the same time.
func (m *Machine) catchUp(t clock.Ticks) {
	for i, a := range m.state {
		if a == asleep {
			m.advance(i, t)
		}
	}
}

// start makes a parked CPU begin at the image's entry, with its number and per-CPU data as arguments.
func (m *Machine) start(i int, entry, stack uint64) {
	m.advance(i, m.Now())
	m.cpus[i].Boot(entry, stack, uint64(i), m.percpu[i])
	m.become(i, running)
}
