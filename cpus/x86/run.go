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
	c.phase = b.phase
	insts := b.insts
	single := c.ctl&flagTF != 0 || c.shadow
	if single || c.observer != nil || c.dreg[7]&dr7Armed != 0 {
		c.runObserved(b, single)
		return
	}
	for i := range insts {
		in := &insts[i]
		c.r[rRIP] += uint64(in.len)
		in.exec(c, in)
		if c.stop != 0 {
			c.finish(in, uint64(i))
			return
		}
		c.account(in)
	}
	c.charge(uint64(len(insts)))
}

// finish ends a block early: with an exception, after a store into code, or to leave the CPU. n
// instructions before in have been executed and are not yet counted.
func (c *CPU) finish(in *inst, n uint64) {
	if c.stop&stopFault != 0 {
		if !c.fault.trap {
			c.r[rRIP] -= uint64(in.len)
		} else {
			c.account(in)
			n++
		}
		c.charge(n)
		c.deliverPending()
		return
	}
	c.stop &^= stopCode | stopBlock
	c.account(in)
	c.charge(n + 1)
	if c.leaving {
		c.leaving = false
		c.leaveContext()
	}
}

// runObserved executes a block one instruction at a time: for the observer, for single-stepping, for
// breakpoints by address, and behind instructions that hold interrupts off. Its timing is runBlock's.
func (c *CPU) runObserved(b *block, single bool) {
	pc := c.r[rRIP]
	for i := range b.insts {
		in := &b.insts[i]
		if c.dreg[7]&dr7Armed != 0 && c.breakOnFetch() {
			return
		}
		trap := c.ctl&flagTF != 0
		shadow := c.shadow
		c.shadow = false
		c.begin(pc)
		c.r[rRIP] += uint64(in.len)
		in.exec(c, in)
		stopped, faulted := c.stop != 0, c.stop&stopFault != 0
		if stopped {
			c.finish(in, 0)
		} else {
			c.account(in)
			c.charge(1)
		}
		if !faulted && c.stop&stopExit == 0 {
			c.afterStep(trap)
		}
		c.end(pc, in)
		if shadow {
			c.attend |= attendFlags
		}
		if stopped || trap || single || c.attend != 0 || c.r[rRIP] != pc+uint64(in.len) {
			return
		}
		pc = c.r[rRIP]
	}
}

// afterStep delivers the traps that follow a completed instruction.
func (c *CPU) afterStep(trap bool) {
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
		c.step = cpus.Step{CPU: c.num, PC: pc, Start: c.mark, Stalls: stalls, Phase: c.phase, Context: c.ctx}
	}
}

func (c *CPU) end(pc uint64, in *inst) {
	if c.observer == nil {
		return
	}
	s := &c.step
	s.End = c.retire
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
	c.phase = 0
	v := ic.Ack()
	c.deliver(fault{vector: v, trap: true}, cpus.Interrupted)
}
