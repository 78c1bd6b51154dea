package x86

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Run implements cpus.CPU. Time and interrupts are looked at between blocks.
func (c *CPU) Run(limit clock.Ticks) cpus.Exit {
	for {
		if e, stop := c.before(limit); stop {
			return e
		}
		b := c.fetch()
		if b == nil {
			c.deliverPending()
		} else {
			c.runBlocks(b, limit)
		}
		if c.stop&stopExit != 0 {
			c.stop &^= stopExit
			return c.exit
		}
	}
}

// before looks around before a block, and reports whether there is something for the machine to do.
func (c *CPU) before(limit clock.Ticks) (cpus.Exit, bool) {
	if c.attend != 0 {
		c.lookAround()
		if c.stop&stopExit != 0 { // its delivery failed for good
			c.stop &^= stopExit
			return c.exit, true
		}
	}
	switch {
	case c.halted:
		return cpus.Exit{Reason: cpus.Halted}, true
	case c.retire >= limit:
		return cpus.Exit{Reason: cpus.Limit}, true
	case c.r[rRIP]-c.bus.Native[0] < c.bus.Native[1]-c.bus.Native[0] && !c.user:
		return cpus.Exit{Reason: cpus.Native}, true
	}
	return cpus.Exit{}, false
}

// runBlocks executes a block and those that follow it by links, as far as nothing but the next block's
// code is to be looked at between them. When every instruction must be looked at it executes the first.
func (c *CPU) runBlocks(b *block, limit clock.Ticks) {
	if b.phase != c.phase {
		c.setPhase(b.phase)
	}
	if c.singly(b) {
		c.cur, c.settled = b, 0
		c.runObserved(b, 0, len(b.insts))
		return
	}
	for b != nil {
		c.cur, c.settled = b, 0
		insts, pc := b.insts, c.r[rRIP]
		for i := range insts {
			in := &insts[i]
			c.idx = i
			c.r[rRIP] = pc + uint64(in.next) // not +=: each would wait for the one before
			in.exec(c, in)
			if c.stop != 0 {
				c.finish(in, i)
				return
			}
		}
		if c.window || c.settled != 0 {
			c.settle(len(insts))
		} else {
			c.settleBlock(b)
		}
		b = c.following(b, limit)
	}
	c.idx = between
}

// singly reports whether every instruction of a block must be looked at.
func (c *CPU) singly(b *block) bool {
	return c.observer != nil && (c.all || b.watched > c.r[rRIP]) || c.shadow || c.ctl&flagTF != 0 || c.watching
}

// following returns the block that follows b by a link, or nil when Run must look around first.
func (c *CPU) following(b *block, limit clock.Ticks) *block {
	pc := c.r[rRIP]
	l := &b.links[0]
	if pc != b.end {
		l = &b.links[1]
	}
	if l.pc != pc || l.gen != c.gen || c.attend != 0 || c.retire >= limit {
		return nil
	}
	if b = l.to; b.phase != c.phase || c.iRecent[(b.line-1)&c.iMask] != b.line {
		return nil
	}
	if b.spill && c.iRecent[b.line&c.iMask] != b.line+1 {
		return nil
	}
	return b
}

// finish ends a block at instruction i: with an exception, after a store into code, or to leave the
// CPU.
func (c *CPU) finish(in *inst, i int) {
	faulted := c.stop&stopFault != 0
	if faulted && !c.fault.trap {
		if in.seg == segFlat && (in.base == rsp || in.base == rbp) {
			c.onStack()
		}
		c.r[rRIP] -= uint64(in.len)
		c.settle(i)
		c.acc[i&(accesses-1)] = access{}
	} else {
		c.settle(i + 1)
	}
	c.idx = between
	c.stop &^= stopCode | stopBlock
	if faulted {
		c.deliverPending()
		return
	}
	if c.leaving {
		c.leaving = false
		c.leaveContext()
	}
}

// runObserved executes instructions of a block one by one, from a first one up to a last one: for the
// observer, for single-stepping, for breakpoints by address, and behind instructions that hold interrupts
// off. It returns the index behind the one that it came to. Its timing is runBlocks'.
func (c *CPU) runObserved(b *block, from, to int) int {
	for i := from; i < to; i++ {
		in := &b.insts[i]
		if c.watching && c.breakOnFetch() {
			return i + 1
		}
		pc := c.r[rRIP]
		trap, shadow := c.ctl&flagTF != 0, c.shadow
		if i != from && (trap || shadow) {
			return i // a block of its own
		}
		c.shadow = false
		c.begin(pc)
		stopped := c.one(in, i)
		if c.stepped {
			c.afterStep(trap)
		}
		c.end(b, pc, in)
		if shadow {
			c.attend |= attendFlags
		}
		if stopped || trap || shadow || c.broken || c.r[rRIP] != pc+uint64(in.len) {
			return i + 1
		}
	}
	return to
}

// one executes and times one instruction, and reports whether the block ends with it. Afterwards
// c.stepped says whether the instruction completed, so that traps may follow it.
func (c *CPU) one(in *inst, i int) bool {
	c.idx = i
	c.r[rRIP] += uint64(in.len)
	in.exec(c, in)
	c.stepped = c.stop&stopFault == 0
	if c.stop != 0 {
		c.finish(in, i)
		return true
	}
	c.settle(i + 1)
	c.idx = between
	return false
}

// afterStep delivers the traps that follow a completed instruction.
func (c *CPU) afterStep(trap bool) {
	if c.holdTraps {
		c.holdTraps = false
		return
	}
	hit := c.watchHit
	c.watchHit = 0
	if !trap && hit == 0 {
		return
	}
	if trap {
		hit |= dr6BS
	}
	c.dreg[6] = c.dreg[6]&^uint64(0xf) | hit | dr6Ones
	c.fault = fault{vector: vecDB, trap: true}
	c.stop |= stopFault
	c.deliverPending()
}

// begin and end tell the observer of an instruction.
func (c *CPU) begin(pc uint64) {
	if c.observer != nil {
		s := &c.step // its stalls are those of the fetch
		s.PC, s.Start, s.Phase, s.Context, s.User, s.Exception = pc, c.observed, c.phase, c.ctx, c.user, ""
	}
}

func (c *CPU) end(b *block, pc uint64, in *inst) {
	if c.observer == nil {
		return
	}
	s := &c.step
	s.End, s.Masked = c.retire, c.ctl&flagIF == 0
	c.observed = c.retire
	s.Phys = b.pa + (pc - b.pc)
	s.Code = c.memory.Bytes(s.Phys, int(in.len))
	c.observer.Step(s)
	c.step.Stalls = cpus.Stalls{}
}

// lookAround takes a non-maskable interrupt, or another if the CPU accepts one.
func (c *CPU) lookAround() {
	if c.shadow {
		return
	}
	c.attend = 0
	if c.nmi && !c.nmiBlocked {
		c.nmi, c.nmiBlocked, c.halted = false, true, false
		c.attend = attendIRQ
		c.deliver(fault{vector: vecNM, trap: true}, cpus.Interrupted)
		return
	}
	ic := c.bus.Interrupts
	if ic == nil || !ic.Pending() {
		return
	}
	if c.ctl&flagIF == 0 {
		return // sti, popf and iret set attend again
	}
	c.halted = false
	c.deliver(fault{vector: uint8(ic.Acknowledge()), trap: true}, cpus.Interrupted)
}

// settleBefore brings the clock up to the running instruction, for those that look at it.
func (c *CPU) settleBefore() {
	if c.idx != between {
		c.settle(c.idx)
	}
}
