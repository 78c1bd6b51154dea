package engine

import (
	"math/bits"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// groupState is the dispatch group that the last instruction went into. The next one is in it when it finds a
// slot there, and when dispatch has not moved since.
type groupState struct {
	at     ticks // when the group was dispatched
	floor  ticks // when it can retire: a cycle behind the one before
	place  int   // of its retirement in ring
	filled uint8 // slots that are taken
}

// initGroups prepares dispatch by groups, when the description asks for it.
func (t *Core) initGroups(cfg *cpus.Config) {
	t.grouped = cfg.Groups.On
	t.width = uint8(cfg.Width)
	t.room = t.width - uint8(cfg.Groups.BranchSlots)
	if t.grouped {
		t.rob = cfg.Window / cfg.Width
		t.group.at, t.group.filled = -clock.PerCycle, t.width
	}
}

// scheduleInGroup adds an instruction to a dispatch group and returns when it is dispatched, and the
// place of the next group in ring. A new group comes a cycle behind the last at the earliest, and when
// there is an entry for it among those in flight. One that takes several groups executes from the
// first on.
func (c *Core) scheduleInGroup(op *Op, k *price, d ticks, at int, retire ticks) (ticks, int) {
	g := &c.group
	branch := op.Flags&Branches != 0 && c.room < c.width
	limit := c.room
	if branch {
		limit = c.width
	}
	if d != g.at || k.alone || g.filled+k.groupSlots > limit {
		d = max(d, g.at+clock.PerCycle, c.ring[at&(cpus.MaxWindow-1)])
		*g = groupState{at: d + k.groups - clock.PerCycle, floor: retire + k.groups, place: at}
		if at++; at >= c.rob {
			at = 0
		}
	}
	if branch {
		g.filled = max(g.filled, c.room)
	}
	g.filled += k.groupSlots
	if k.alone {
		g.filled = c.width
	}
	return d, at
}

// secondResult is when an instruction's second result is ready. That of an operand in memory is its new
// address, which waits for nothing else.
func (c *Core) secondResult(op *Op, k *price, free, done ticks) ticks {
	if op.Flags&(Loads|Stores) == 0 {
		return done - k.latency + k.second
	}
	return max(free, c.ready[op.Base&regMask], c.ready[op.Index&regMask]) + k.second
}

// readyAlso sets the ready times of further results.
func (c *Core) readyAlso(registers uint64, done ticks) {
	for ; registers != 0; registers &= registers - 1 {
		c.ready[bits.TrailingZeros64(registers)] = done
	}
}

// freezeGroup appends the group as it is seen from the time of dispatch. One that takes nothing more matters
// by its time alone, and by that only as long as the next group may be too close. Nothing is done before it
// was dispatched, so an earlier floor is no floor.
func (c *Core) freezeGroup(w []uint64, d ticks) []uint64 {
	g := c.group
	at, open := max(g.at, d-clock.PerCycle), uint64(0)
	if g.at == d && g.filled < c.width {
		open = 1<<8 | uint64(g.filled) | uint64(max(g.floor-d, 0))<<16
	}
	return append(w, uint64(at-d), open)
}

// meltGroup is the way back. The group is the newest entry of the ring, whose oldest comes first.
func (c *Core) meltGroup(d ticks, w []uint64) []uint64 {
	c.group = groupState{at: d + ticks(w[0]), floor: d + ticks(w[1]>>16), place: c.rob - 1, filled: c.width}
	if w[1] != 0 {
		c.group.filled = uint8(w[1])
	}
	return w[2:]
}
