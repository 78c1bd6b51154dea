package engine

import (
	"math/bits"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// movedBit is where a state's first word says that the stack engine holds a displacement, above the ports.
const movedBit = 8 + maxPorts

// freeze appends the model's state to w as it is seen from the time of dispatch. A time that nothing
// can wait for any more is left out or raised to the latest such time, so that states which differ in
// nothing else are equal. In the reasons below d is the time of dispatch. The next instruction is not
// dispatched before soon, which is d and the least issue of any.
//
// Stores count from the last one that was placed. Those that a load may have to wait for are among the
// last so many.
func (c *Core) freeze(w []uint64) (_ []uint64, stores uint8) {
	d := c.dispatch
	soon := d + c.leastIssue
	head := len(w)
	pace := c.slot
	flags := uint64(d % clock.PerCycle) // a decode group begins with a cycle
	if c.grouped {
		pace, flags = clock.PerCycle, 0
	}
	for i, set := range []bool{c.entering, c.streams} {
		if set {
			flags |= 1 << (6 + i)
		}
	}
	if c.moved {
		flags |= 1 << movedBit
	}
	// The next one, or the next group, retires a pace behind retire and not before soon. Whatever waits for retire waits for d.
	retire := max(c.retire, min(d, soon-pace))
	// Fetch may not run further ahead of dispatch.
	fetched := max(c.fetched, d-c.lead)
	// The next store comes from an instruction that retires behind both, and what serializes waits for them.
	drained := max(c.drained, max(d, retire)-c.storeBusy)
	w = append(w, flags, 0, 0, 0, uint64(retire-d), uint64(fetched-d), uint64(drained-d))
	if c.grouped {
		w = c.freezeGroup(w, d)
	}
	if c.pipes != nil {
		w = c.freezePipes(w, d)
	}
	if c.loads != nil {
		w = c.freezeLoads(w, d)
	}
	// Execution begins when the instruction was dispatched or later. What moves the stack pointer sets stackAddress itself.
	live := uint64(0)
	for i, t := range &c.ready {
		if t > soon && i != int(c.sink) && i != stackAddress {
			live |= 1 << i
			w = append(w, uint64(t-d))
		}
	}
	w[head+1] = live
	for i, t := range &c.port {
		if t > soon {
			w[head] |= 1 << (8 + i)
			w = append(w, uint64(t-d))
		}
	}
	// A load looks for its data when it was dispatched or later. What it finds in the cache takes l1Lat, so
	// data that are known early enough are as good as earlier ones.
	early, n, last := soon+c.l1Lat-c.farthest, c.seen, uint64(0)
	if c.drained <= soon {
		n = 0 // all are in the cache
	}
	for i := range n {
		if t := &c.stores[(c.placed-i)&(forwards-1)]; t.commit > soon {
			w[head+2+int(i/64)] |= 1 << (i % 64)
			last = i + 1
			commit := uint64(t.commit-d)<<1 | uint64(max(t.address-d, 0))<<32 // loads look when they were dispatched or later
			if t.pushed {
				commit |= 1
			}
			w = append(w, uint64(max(t.data, early)-d)<<16|uint64(t.place), commit)
		}
	}
	if c.pipes != nil {
		return c.freezePipesRing(w, d), uint8(last)
	}
	return c.freezeRing(w), uint8(last)
}

// freezeRing appends what the ring holds. The instruction that takes the place of entry i, counted from
// the oldest, is the i+1st from now and cannot be dispatched before as many times the least issue.
// Entries are in the order of time, and retire is the last: only the first few can be later. With groups an
// entry is a group. The next one is dispatched a cycle behind the last, which may be now, and another each cycle. An entry
// that is no later than the one before it lets the instruction be dispatched anyway is left out.
func (c *Core) freezeRing(w []uint64) []uint64 {
	least, at, bound := c.leastIssue, c.at, c.dispatch
	if c.grouped {
		least, bound = clock.PerCycle, max(c.dispatch-clock.PerCycle, c.group.at)
	}
	n := min(int((c.retire-bound-1)/least), c.rob)
	for i := range n {
		bound += least
		if t := c.ring[at&(cpus.MaxWindow-1)]; t > bound {
			w = append(w, uint64(t-c.dispatch)<<16|uint64(i))
			bound = t
		}
		if at++; at >= c.rob {
			at = 0
		}
	}
	return w
}

// melt gives the model's arrays the state that freeze found when dispatch was at d.
func (c *Core) melt(d ticks, w []uint64) {
	flags, live, sent := w[0], w[1], [2]uint64{w[2], w[3]}
	c.entering, c.streams, c.moved = flags>>6&1 != 0, flags>>7&1 != 0, flags>>movedBit&1 != 0
	c.fetched, c.drained = d+ticks(w[5]), d+ticks(w[6])
	w = w[7:]
	if c.grouped {
		w = c.meltGroup(d, w)
	}
	if c.pipes != nil {
		w = c.pipes.melt(d, w)
	}
	if c.loads != nil {
		w = c.loads.melt(d, w)
	}
	c.ready, c.port = [Registers]ticks{}, [maxPorts]ticks{}
	for ; live != 0; live &= live - 1 {
		c.ready[bits.TrailingZeros64(live)] = d + ticks(w[0])
		w = w[1:]
	}
	for ports := flags >> 8 & (1<<maxPorts - 1); ports != 0; ports &= ports - 1 {
		c.port[bits.TrailingZeros64(ports)] = d + ticks(w[0])
		w = w[1:]
	}
	c.stores = [forwards]storeTimes{}
	if c.pipes != nil {
		c.pipes.naming = ^(uint64(1) << (c.stack & regMask))
	}
	for sent != [2]uint64{} {
		half := 0
		if sent[0] == 0 {
			half = 1
		}
		i := uint64(half*64 + bits.TrailingZeros64(sent[half]))
		sent[half] &= sent[half] - 1
		s := storeTimes{data: d + ticks(int64(w[0])>>16), commit: d + ticks(w[1]>>1), pushed: w[1]&1 != 0, place: placeName(w[0])}
		if c.conflicts != nil {
			s.commit, s.address = d+ticks(uint32(w[1])>>1), d+ticks(w[1]>>32)
		}
		c.stores[(c.placed-i)&(forwards-1)] = s
		w = w[2:]
	}
	clear(c.ring[:c.rob])
	c.at = 0
	for _, t := range w {
		c.ring[t&(cpus.MaxWindow-1)] = d + ticks(t>>16)
	}
}
