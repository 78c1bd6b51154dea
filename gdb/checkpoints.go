package gdb

import (
	"bytes"
	"slices"
	"sync"

	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Checkpoints are states of a machine that can be kept, so that a run need not begin at the start.
type Checkpoints struct {
	Every clock.Ticks // between two of them, at first

	mu   sync.Mutex
	list []checkpoint // by time
}

// checkpoint is a state, and a time that all CPUs had reached in it.
type checkpoint struct {
	at    clock.Ticks
	state []byte
}

// mostCheckpoints bounds the host's memory: a state has all pages that the guest has used.
const mostCheckpoints = 8

// latest returns how far the furthest CPU of a machine is.
func latest(m *sim.Machine) clock.Ticks {
	at := clock.Ticks(0)
	for i := range m.CPUs() {
		at = max(at, m.CPU(i).Now())
	}
	return at
}

// Restore makes a machine that has not run the one of the last state before a time, if there is any.
func (c *Checkpoints) Restore(m *sim.Machine, before clock.Ticks) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.list) - 1; i >= 0; i-- {
		if c.list[i].at < before {
			return m.Restore(bytes.NewReader(c.list[i].state))
		}
	}
	return nil
}

// Take keeps the state of a machine between two turns, if the last one before it is long ago.
func (c *Checkpoints) Take(m *sim.Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, place, last := latest(m), 0, clock.Ticks(0)
	for place < len(c.list) && c.list[place].at <= at {
		last = c.list[place].at
		place++
	}
	if at-last < c.Every || place < len(c.list) && c.list[place].at-at < c.Every {
		return nil
	}
	b, err := m.Keep()
	if err != nil {
		return err
	}
	c.insert(place, checkpoint{at, b})
	return nil
}

// insert inserts a state, and drops the one that is missed least where there are too many: gaps may be as wide as they are far from the
// present.
func (c *Checkpoints) insert(place int, x checkpoint) {
	now := x.at
	if c.list = slices.Insert(c.list, place, x); len(c.list) <= mostCheckpoints {
		return
	}
	least, drop := 0.0, -1
	for i := range len(c.list) - 1 {
		before := clock.Ticks(0)
		if i > 0 {
			before = c.list[i-1].at
		}
		far := max(now-c.list[i].at, c.list[i].at-now)
		if worth := float64(c.list[i+1].at-before) / float64(far+c.Every); c.list[i].at != now && (drop < 0 || worth < least) {
			least, drop = worth, i
		}
	}
	c.list = slices.Delete(c.list, drop, drop+1)
}
