package sim

import "kprobesim/internal/clock"

// SetLookahead changes how far CPUs run apart.
func (m *Machine) SetLookahead(t clock.Ticks) { m.lookahead = t }

// Unwatch drops the watchers, for benchmarks.
func (m *Machine) Unwatch() { m.watchers = nil }

// SetLongestTurn has a CPU come back to Run more often.
func (m *Machine) SetLongestTurn(t clock.Ticks) { m.longest = t }
