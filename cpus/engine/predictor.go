package engine

import (
	"math/rand/v2"
	"slices"
	"unsafe"

	"kprobesim/cpus"
)

// predictor predicts directions by gshare, indirect targets by a table indexed with address and
// history, and returns by a circular stack that under- and overflows silently, as hardware does.
// Gshare is from McFarling, Combining Branch Predictors (1993). Its tables are shared by all code of
// a CPU, so probes and the workload displace each other's entries. Targets of direct branches always
// hit: a branch target buffer is left out.
type predictor struct {
	history  uint32
	histMask uint32
	counters []uint8 // two bits each: not taken below 2
	cmask    uint32
	targets  []uint64
	tmask    uint32
	tshift   uint   // low bits of an address that say nothing, and
	thist    uint32 // bits of the history, of which the place of an indirect target is made
	tpath    bool   // the history has targets too
	byTarget bool   // returns without an address in the stack are predicted by targets
	returns  []uint64
	loop     loopBuffer
	depth    int // entries of returns in use
	top      int
	tagged   *tagged // tables beside counters, or nil
	first    *firstGuess
	asleep   bool // branches are not predicted, and teach nothing
	aside    bool // they are not, or there is a loop buffer
}

// Counters begin at weakly not taken, and the history with zero, so that a run depends on nothing
// before it.
func (p *predictor) init(pc cpus.PredictorConfig, align uint8) {
	p.histMask = uint32(1<<pc.HistoryBits - 1)
	p.tshift = uint(align)
	if !pc.TargetsByAddress {
		p.thist = p.histMask
	}
	p.tpath, p.byTarget = !pc.TargetsByDirections, pc.ReturnsByTarget
	p.counters = make([]uint8, 1<<pc.TableBits)
	for i := range p.counters {
		p.counters[i] = 1
	}
	p.cmask = uint32(len(p.counters) - 1)
	p.targets = make([]uint64, pc.TargetEntries)
	p.tmask = uint32(pc.TargetEntries - 1)
	p.returns = make([]uint64, pc.ReturnStack)
	p.tagged = newTagged(pc.Tagged)
	if pc.Tagged.Override > 0 {
		p.first = &firstGuess{slices.Clone(p.counters), slices.Clone(p.targets)}
	}
}

// firstGuess predicts before the tables do, by address alone.
type firstGuess struct {
	counters []uint8 // two bits each
	targets  []uint64
}

// guess trains on the direction of a branch, and reports whether it was expected.
func (f *firstGuess) guess(pc uint32, taken bool) bool {
	k := &f.counters[pc&uint32(len(f.counters)-1)]
	expected := *k >= 2 == taken
	learnBase(k, taken)
	return expected
}

// target trains on an indirect branch, and reports whether it was expected.
func (f *firstGuess) target(pc uint32, to uint64) bool {
	t := &f.targets[pc&uint32(len(f.targets)-1)]
	expected := *t == to
	*t = to
	return expected
}

// recall fills the predictor with what other code may have left in it: counters in any state, and any
// history. Targets and return addresses stay empty. One of other code is as wrong as none, since
// no address that is asked for would be among them.
func (p *predictor) recall(numbers *rand.PCG) {
	for i := range p.counters {
		p.counters[i] = uint8(numbers.Uint64() & 3)
	}
	if p.first != nil {
		copy(p.first.counters, p.counters)
	}
	p.history = uint32(numbers.Uint64()) & p.histMask
	for range pastBits {
		if p.tagged != nil {
			p.tagged.push(numbers.Uint64()&1 != 0)
		}
	}
}

// counter returns the counter of a conditional branch that ends before next, with a place in it for the direction that
// is not known yet. The mask is that of the counters.
func (p *predictor) counter(next uint64, history uint32) *uint8 {
	return (*uint8)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p.counters)), (uint32(next>>(p.tshift&63))^history)&p.cmask))
}

// target trains on an indirect branch and reports a wrong prediction.
func (p *predictor) target(next, to uint64) bool {
	t := &p.targets[(uint32(next>>(p.tshift&63))^p.history&p.thist)&p.tmask]
	wrong := *t != to
	*t = to
	if p.tpath {
		p.history = (p.history<<2 ^ uint32(to>>4)) & p.histMask
	}
	return wrong
}

// Called notes the return address of a call.
func (p *predictor) Called(to uint64) {
	if p.asleep {
		return
	}
	p.loop.reset()
	top, size := p.top+1, len(p.returns)
	if top == size {
		top = 0
	}
	p.top = top
	*p.returnAt(top) = to
	if p.depth < size {
		p.depth++
	}
}

// pop returns the predicted return address; zero when the stack is empty.
func (p *predictor) pop() uint64 {
	p.loop.reset()
	if p.depth == 0 {
		return 0
	}
	top := p.top
	to := *p.returnAt(top)
	p.depth--
	if top == 0 {
		top = len(p.returns)
	}
	p.top = top - 1
	return to
}

// returnAt is a place in the stack of return addresses: top is never outside of it.
func (p *predictor) returnAt(top int) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(p.returns)), 8*top))
}

// Unwind drops the newest return address, for a call whose return is not executed. Native calls need
// it: the guest calls the slot, and Go returns in place of an instruction.
func (p *predictor) Unwind() {
	if p.depth > 0 && !p.asleep {
		p.pop()
	}
}

// ForgetTargets forgets the targets of indirect branches, as the barrier of an instruction set asks for.
func (p *predictor) ForgetTargets() { clear(p.targets) }

// Conditional is a conditional branch, by a distance from the instruction behind it when it is taken.
func (c *Core) Conditional(taken bool, by uint64) {
	switch {
	case c.asleep:
		if taken {
			c.R[PC] = (c.R[PC] + by) & c.AddrMask
		}
	case taken:
		if c.tagged == nil {
			c.TrainTaken()
		} else {
			c.trainTagged(true, by)
		}
		if c.Go(by); c.loops {
			c.looped(by)
		}
	default:
		if c.tagged == nil {
			c.TrainUntaken()
		} else {
			c.Counts.Branches++
			c.trainTagged(false, by)
		}
		if c.loop.streams() && c.R[PC] == c.loop.from {
			c.loop.reset()
		}
	}
}

// TrainTaken trains on a conditional branch that is taken, and counts a wrong prediction. With Go it is Conditional where
// Plain holds, in line.
func (c *Core) TrainTaken() {
	k := c.counter(c.R[PC], c.history<<1)
	c.history = (c.history<<1 | 1) & c.histMask
	if *k != 3 {
		if *k++; *k <= 2 { // it was less than 2
			c.Counts.Mispredicts++
			c.outcome |= mispredicted
		}
	}
}

// TrainUntaken is Conditional of a branch that is not taken, likewise.
func (c *Core) TrainUntaken() {
	k := c.counter(c.R[PC], c.history<<1)
	c.history = c.history << 1 & c.histMask
	c.Counts.Branches++
	if *k != 0 {
		if *k--; *k >= 1 { // it was at least 2
			c.Counts.Mispredicts++
			c.outcome |= mispredicted
		}
	}
}

// trainTagged is TrainTaken or TrainUntaken by tagged tables, of a branch over so many bytes. The short history goes on for indirect
// targets.
func (c *Core) trainTagged(taken bool, over uint64) {
	c.history = c.history << 1 & c.histMask
	if taken {
		c.history |= 1 & c.histMask
	}
	pc := uint32(c.R[PC] >> (c.tshift & 63))
	late := c.first != nil && !c.first.guess(pc, taken)
	switch {
	case c.tagged.train(pc, c.counter(c.R[PC], 0), taken):
		c.Counts.Mispredicts++
		c.convergent(over)
		c.outcome |= mispredicted
	case late:
		c.outcome |= overrode
	}
}

// Go counts a branch that is taken by a distance from the instruction behind it.
func (c *Core) Go(by uint64) {
	c.Counts.Branches++
	c.outcome |= taken
	c.R[PC] = (c.R[PC] + by) & c.AddrMask
}

// Plain reports that branches are predicted and that there is no loop buffer.
func (c *Core) Plain() bool { return !c.aside }

// Jump is a branch by a distance from the instruction behind it, which the front end knows in time.
func (c *Core) Jump(by uint64) {
	c.outcome |= taken
	c.R[PC] += by
	c.R[PC] &= c.AddrMask
	if c.loops {
		c.looped(by)
	}
}

// Indirect is a branch to an address that was computed.
func (c *Core) Indirect(to uint64) {
	if c.asleep {
		c.R[PC] = to
		return
	}
	c.byTargets(to)
	c.R[PC] = to
}

// byTargets predicts a branch to an address by the targets that are known.
func (c *Core) byTargets(to uint64) {
	c.loop.reset()
	c.Counts.Branches++
	c.outcome |= taken
	late := c.first != nil && !c.first.target(uint32(c.R[PC]>>(c.tshift&63)), to)
	switch {
	case c.target(c.R[PC], to):
		c.Counts.Mispredicts++
		c.outcome |= mispredicted
	case late:
		c.outcome |= overrode
	}
}

// ReturnTo is the return from a call.
func (c *Core) ReturnTo(to uint64) {
	if c.asleep {
		c.R[PC] = to
		return
	}
	if c.byTarget && c.depth == 0 {
		c.byTargets(to)
		c.R[PC] = to
		return
	}
	c.Counts.Branches++
	c.outcome |= taken
	c.R[PC] = to
	if c.pop() != to {
		c.Counts.Mispredicts++
		c.outcome |= mispredicted
	}
}
