package x86

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Run implements cpus.CPU. Time and interrupts are looked at between blocks.
func (c *CPU) Run(limit clock.Ticks) cpus.Exit {
	for {
		if c.attend != 0 {
			c.lookAround()
		}
		if c.halted {
			return cpus.Exit{Reason: cpus.Halted}
		}
		if c.retire >= limit {
			return cpus.Exit{Reason: cpus.Limit}
		}
		if c.r[rRIP]-c.bus.Native[0] < c.bus.Native[1]-c.bus.Native[0] {
			return cpus.Exit{Reason: cpus.Native}
		}
		b := c.fetch()
		if b == nil {
			c.deliverPending()
		} else {
			c.runBlock(b)
		}
		if c.stop&stopExit != 0 {
			c.stop &^= stopExit
			return c.exit
		}
	}
}

// runBlock executes a block, or its first instruction when every instruction must be looked at.
func (c *CPU) runBlock(b *block) {
	if b.phase != c.phase {
		c.setPhase(b.phase)
	}
	c.cur, c.settled = b, 0
	if c.observer != nil || c.shadow || c.ctl&flagTF != 0 || c.watching {
		c.runObserved(b)
		return
	}
	insts := b.insts
	for i := range insts {
		in := &insts[i]
		c.idx = i
		c.r[rRIP] += uint64(in.len)
		in.exec(c, in)
		if c.stop != 0 {
			c.finish(in, i)
			return
		}
	}
	c.settle(len(insts))
	c.idx = between
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

// runObserved executes a block one instruction at a time: for the observer, for single-stepping, for
// breakpoints by address, and behind instructions that hold interrupts off. Its timing is runBlock's.
func (c *CPU) runObserved(b *block) {
	first := true
	for i := range b.insts {
		in := &b.insts[i]
		if c.watching && c.breakOnFetch() {
			return
		}
		pc := c.r[rRIP]
		trap, shadow := c.ctl&flagTF != 0, c.shadow
		if !first && (trap || shadow) {
			return // a block of its own
		}
		first = false
		c.shadow = false
		c.begin(pc)
		stopped := c.one(in, i)
		if c.stepped {
			c.afterStep(trap)
		}
		c.end(pc, in)
		if shadow {
			c.attend |= attendFlags
		}
		if stopped || trap || shadow || c.r[rRIP] != pc+uint64(in.len) {
			return
		}
	}
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
		stalls := c.step.Stalls // of the fetch
		c.step = cpus.Step{CPU: c.num, PC: pc, Start: c.observed, Stalls: stalls, Phase: c.phase, Context: c.ctx}
	}
}

func (c *CPU) end(pc uint64, in *inst) {
	if c.observer == nil {
		return
	}
	s := &c.step
	s.End = c.retire
	c.observed = c.retire
	s.Phys, _ = c.Translate(pc)
	s.Code = c.memory.Bytes(s.Phys, int(in.len))
	c.observer.Step(s)
	c.step.Stalls = cpus.Stalls{}
}

// lookAround takes a pending interrupt if the CPU accepts one.
func (c *CPU) lookAround() {
	if c.shadow {
		return
	}
	c.attend = 0
	ic := c.bus.Interrupts
	if ic == nil {
		return
	}
	if _, ok := ic.Pending(); !ok {
		return
	}
	if c.ctl&flagIF == 0 {
		return // sti, popf and iret set attend again
	}
	c.halted = false
	v := ic.Ack()
	c.deliver(fault{vector: v, trap: true}, cpus.Interrupted)
}

// settleBefore brings the clock up to the running instruction, for those that look at it.
func (c *CPU) settleBefore() {
	if c.idx != between {
		c.settle(c.idx)
	}
}
