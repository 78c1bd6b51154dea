package sim

import (
	"fmt"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Policy chooses who runs, in place of time: to search for interleavings. Next is given the numbers of
// the CPUs that have something to execute, in order and never none of them, which it must not keep. The
// machine runs the chosen CPU for exactly that many instructions, of which a call into Go is one, until
// it halts, or until an observer breaks or Go yields. Then all running CPUs are as late as it is: the others stood still, as under a
// hypervisor that took their processor away. Events happen when that common time reaches them.
type Policy interface {
	Next(m *Machine, runnable []int) (cpu, steps int)
}

// Timekeeper is a Policy that says when time passes. Instructions of its machine take none: the clocks of CPUs stand still in a turn, and
// events happen between two turns. So what code of one CPU does is the same whether it comes in front of code of another one or behind
// it, unless the one reads what the other has written.
type Timekeeper interface {
	Policy
	// Passed is asked in front of each event and each turn how much time has passed since it was asked last. It is given the same CPUs as Next,
	// but sometimes there are none.
	Passed(m *Machine, runnable []int) clock.Ticks
}

// chosenTurn lets the next event happen, or the CPU run that the policy chooses.
func (m *Machine) chosenTurn() {
	if m.stale {
		m.choose()
	}
	if m.keeper != nil {
		m.now += m.keeper.Passed(m, m.choice)
	}
	t, due := m.events.Next()
	switch {
	case due && (t <= m.now || len(m.choice) == 0):
		m.hideStores()
		m.happen(max(t, m.now))
		return
	case len(m.choice) == 0:
		m.drainAll()
		m.Stop(m.stuck())
		return
	case m.now >= m.cfg.Budget:
		m.Stop(m.overBudget())
		return
	}
	m.drainSome()
	i, steps := m.cfg.Policy.Next(m, m.choice)
	if i < 0 || i >= len(m.state) || m.state[i] != running || steps < 1 {
		m.Stop(fmt.Errorf("the policy chose cpu %d for %d instructions, of cpus %v", i, steps, m.choice))
		return
	}
	m.seeSome(i)
	m.showStores(i)
	m.drive(i, steps)
}

// choose lists the running CPUs. It does so only when one of them has slept or woken since, as a
// search takes turns by single instructions.
func (m *Machine) choose() {
	m.choice, m.stale = m.choice[:0], false
	for i, a := range m.state {
		if a == running {
			m.choice = append(m.choice, i)
		}
	}
}

// drive executes instructions of one CPU, with the events that become due between them. Turns are
// counted in instructions and not in time, because a search goes through orders of instructions.
func (m *Machine) drive(i, steps int) {
	c := m.cpus[i]
	m.advance(i, m.now)
	for steps > 0 && !m.done && m.state[i] == running && m.now < m.cfg.Budget {
		m.current = i
		n, e := c.Steps(steps, m.nextEvent())
		steps -= n
		switch e.Reason {
		case cpus.Limit:
		case cpus.Broken:
			steps = 0
		default:
			m.drain(i) // Go sees memory as all CPUs do
			m.handle(i, e)
			if steps--; m.gaveWay {
				steps, m.gaveWay = 0, false
			}
		}
		m.now, m.current = max(m.now, c.Now()), -1
		for !m.done {
			t, due := m.events.Next()
			if !due || t > m.now {
				break
			}
			m.happen(m.now)
		}
	}
}

// nextEvent is the time up to which nothing happens but instructions.
func (m *Machine) nextEvent() clock.Ticks {
	if t, ok := m.events.Next(); ok {
		return min(t, m.cfg.Budget)
	}
	return m.cfg.Budget
}
