package engine

import (
	"math"
	"unsafe"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	h "kprobesim/internal/hostcode"
)

// step is what the window model looks at of one instruction: its operands, and what its class costs. A block that goes
// through the model more than once has a step for each of its instructions. So nothing is looked for that an instruction
// has not.
type step struct {
	flags              uint16
	s1, s2, s3         uint8
	base, index        uint8
	o1, o2             uint8
	port               uint8
	places, takes      uint8 // of a dispatch group: those that must be free, and those that are taken
	least, limit       uint8 // those that are taken in front of it at least, and with it at most
	latency, occupancy int32
	pace               int32 // issue slots; with groups the time that its groups take
}

// Flags of a step.
const (
	stepFront = 1 << iota // something is looked at before dispatch that few instructions need
	stepRare              // placeOp executes it
	stepMore              // has a second or a third source
	stepLoads
)

// planAfter is how often a block goes through the model until it gets steps. Most code is executed once.
const planAfter = 2

// plan makes the steps of a block, if steps can tell of all its instructions.
func (c *Core) plan(b *timed) {
	if !b.simple || c.grouped && c.scoreboard {
		return
	}
	steps := make([]step, len(b.ops))
	for i := range b.ops {
		op := &b.ops[i]
		k := &c.cost[op.Class]
		if max(k.latency, k.occupancy, k.slots, k.groups) > math.MaxInt32 {
			return
		}
		steps[i] = step{
			flags: c.stepFlags(op, k), s1: op.S1, s2: op.S2, s3: op.S3, base: op.Base, index: op.Index,
			o1: op.O1, o2: op.O2, port: k.port, places: k.places, takes: k.places, limit: c.room,
			latency: int32(k.latency), occupancy: int32(k.occupancy), pace: int32(k.slots),
		}
		if c.grouped {
			c.planGroup(&steps[i], op, k)
		}
	}
	b.steps = steps
}

// planGroup says where in a dispatch group an instruction finds its place.
func (c *Core) planGroup(s *step, op *Op, k *price) {
	s.pace = int32(k.groups)
	if op.Flags&Branches != 0 && c.room < c.width {
		s.least, s.limit = c.room, c.width
	}
	if k.alone {
		s.least, s.limit, s.takes = c.width, 0, 0
	}
}

// stepFlags are the flags of an instruction's step. newWindow is one too, in the place that an Op has it.
func (c *Core) stepFlags(op *Op, k *price) uint16 {
	f := op.Flags & newWindow
	if k.first || op.Flags&moves != 0 || op.Flags&namesStack != 0 && c.stackEngine {
		f |= stepFront
	}
	if k.unit != noPort || k.second != 0 || op.Also != 0 || op.Flags&Stores != 0 {
		f |= stepRare
	}
	if op.S2 != c.absent || op.S3 != c.absent {
		f |= stepMore
	}
	if op.Flags&Loads != 0 {
		f |= stepLoads
	}
	return f
}

// rest is settle of a block that has steps while the memo rests. It reports false when it is not that, or when a part of
// the block has been settled.
func (c *Core) rest(b *timed) bool {
	m := &c.memo
	if m.here != 0 || c.settled != 0 || c.course >= oneInput || b.steps == nil {
		return false
	}
	m.pause--
	if b.codeOf != c.model.of {
		c.placeWhole(b)
	} else if how := h.Do(b.code, unsafe.Pointer(c)); how != modelDone {
		c.behindCode(b, how)
	}
	c.rested(b)
	return true
}

// rested has the memo and Core.odd know of a block that was placed while the memo rests.
func (c *Core) rested(b *timed) {
	c.live = forwards
	if c.drained <= c.dispatch {
		c.live = 0
	}
	if c.odd&^(b.minds&^oddStray) != 0 {
		c.tidy(len(b.ops))
		return
	}
	c.odd, c.sends = 0, 0
}

// placeWhole places a whole block that has steps, and redirects the front end behind it.
func (c *Core) placeWhole(b *timed) {
	how := uint64(modelAsIs)
	if c.coded(b) {
		how = h.Do(b.code, unsafe.Pointer(c))
	}
	c.behindCode(b, how)
}

// placeBySteps is placeWhole by steps.
func (c *Core) placeBySteps(b *timed) {
	if c.entering {
		c.enterWindow()
	}
	done := ticks(0)
	if c.grouped {
		done = c.placeGrouped(b)
	} else {
		done = c.placeSteps(b)
	}
	c.count += uint64(len(b.steps))
	if c.course != 0 {
		c.settleBranch(done)
		c.course = 0
	}
}

// frontEnd is what placeAny does before dispatch and few instructions need.
func (c *Core) frontEnd(op *Op, d ticks) ticks {
	if c.cost[op.Class].first {
		d = (d + clock.PerCycle - 1) / clock.PerCycle * clock.PerCycle
	}
	if op.Flags&(moves|namesStack) != 0 {
		d = c.stackPointer(op, d)
	}
	return d
}

// placeSteps is placeAny of a whole block that has steps, on a core without dispatch groups.
func (c *Core) placeSteps(b *timed) (done ticks) {
	d, retire, at := c.dispatch, c.retire, c.at
	steps, fetches := b.steps, c.fetches()
	for i := range steps {
		s := &steps[i]
		f := s.flags
		if f&fetches != 0 {
			c.fetched = max(c.fetched, d-c.lead) + clock.PerCycle
			d = max(d, c.fetched)
		}
		if f&stepFront != 0 {
			d = c.frontEnd(&b.ops[i], d)
		}
		d = max(d+ticks(s.pace), c.ring[at&(cpus.MaxWindow-1)])
		if c.scoreboard {
			d = c.inOrder(&b.ops[i], &c.cost[b.ops[i].Class], d)
		}
		next := retire + c.slot
		if f&stepRare != 0 {
			d, retire, done = c.placeOp(&b.ops[i], d, next, &c.acc[i&(accesses-1)])
		} else {
			done = c.placeStep(b, i, d)
			retire = max(next, done)
		}
		c.ring[at&(cpus.MaxWindow-1)] = retire
		if at++; at >= c.rob {
			at = 0
		}
	}
	c.dispatch, c.retire, c.at = d, retire, at
	return done
}

// placeStep places step i of a block, which is no rare one and is dispatched at d. It returns when the result is there.
func (c *Core) placeStep(b *timed, i int, d ticks) (done ticks) {
	s := &b.steps[i]
	f := s.flags
	port := &c.port[s.port&portMask]
	start := max(d, *port)
	*port, c.port[noPort] = start+ticks(s.occupancy), 0
	if f&stepLoads != 0 {
		a := &c.acc[i&(accesses-1)]
		p := max(c.port[portLoad], d)
		c.port[portLoad] = p + c.loadBusy
		p = max(p, c.ready[s.base&regMask], c.ready[s.index&regMask])
		arrives := p + c.l1Lat + a.miss
		if a.match != noStore {
			arrives = c.forwardedAt(&b.ops[i], p, arrives, a)
		}
		a.miss = 0
		start = max(start, arrives)
	}
	done = max(start, c.ready[s.s1&regMask])
	if f&stepMore != 0 {
		done = max(done, c.ready[s.s2&regMask], c.ready[s.s3&regMask])
	}
	done += ticks(s.latency)
	c.ready[s.o1&regMask], c.ready[s.o2&regMask] = done, done
	return done
}

// placeGrouped is placeSteps on a core with dispatch groups.
func (c *Core) placeGrouped(b *timed) (done ticks) {
	d, retire, g := c.dispatch, c.retire, &c.group
	steps, fetches := b.steps, c.fetches()
	for i := range steps {
		s := &steps[i]
		f := s.flags
		if f&fetches != 0 {
			c.fetched = max(c.fetched, d-c.lead) + clock.PerCycle
			d = max(d, c.fetched)
		}
		if f&stepFront != 0 {
			d = c.frontEnd(&b.ops[i], d)
		}
		filled := g.filled
		if d != g.at || filled+s.places > s.limit {
			at := c.at
			d = max(d, g.at+clock.PerCycle, c.ring[at&(cpus.MaxWindow-1)])
			g.at, g.floor, g.place, filled = d+ticks(s.pace)-clock.PerCycle, retire+ticks(s.pace), at, 0
			if at++; at >= c.rob {
				at = 0
			}
			c.at = at
		}
		g.filled = max(filled, s.least) + s.takes
		next := max(retire, g.floor)
		if f&stepRare != 0 {
			d, retire, done = c.placeOp(&b.ops[i], d, next, &c.acc[i&(accesses-1)])
		} else {
			done = c.placeStep(b, i, d)
			retire = max(next, done)
		}
		c.ring[g.place&(cpus.MaxWindow-1)] = retire
	}
	c.dispatch, c.retire = d, retire
	return done
}
