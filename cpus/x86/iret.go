package x86

import "kprobesim/cpus/engine"

// Returns from exceptions (SDM vol. 2, IRET/IRETD/IRETQ, "Operation"). 64-bit mode pops all five words,
// other modes three where the level stays. A 16-bit iret raises #UD.

// returnFrame holds what a return pops.
type returnFrame struct {
	ip, flags, sp uint64
	cs, ss        uint16
}

// level is the one that is returned to: the RPL of the code segment.
func (f *returnFrame) level() uint8 { return uint8(f.cs & 3) }

// iret64 is iretq, and with words of 32 bits iretd in 64-bit mode (SDM vol. 3, 6.14.3). Returns to
// other tasks do not exist in long mode: NT is #GP.
func iret64[T width](c *CPU, _ *inst) {
	c.unblockNMI()
	if c.nested() {
		return
	}
	var w [5]uint64
	if !stackWords[T](c, w[:], 0) {
		return
	}
	f := returnFrame{ip: w[0], cs: uint16(w[1]), flags: w[2], sp: w[3], ss: uint16(w[4])}
	cs, ok := c.returnCode(&f)
	if !ok || !c.farTarget(f.ip) {
		return
	}
	ss, ok := c.returnStack(f.ss, f.level(), cs.attr&attrLong != 0)
	if !ok {
		return
	}
	c.commitReturn(&f, cs, ss)
}

// nested reports NT, which makes a return one to another task, and raises what long mode does then.
func (c *CPU) nested() bool {
	if c.ctl&flagNT == 0 {
		return false
	}
	if c.lma() {
		c.raiseCode(vecGP, 0)
	} else {
		c.unmodelled(0, "return to another task at %#x", c.R[rRIP])
	}
	return true
}

// iret32 is iretd. VM asks for a return to virtual-8086 mode, which is not modelled and long mode does
// not have.
func iret32(c *CPU, _ *inst) {
	c.unblockNMI()
	var w [3]uint64
	if c.nested() || !stackWords[uint32](c, w[:], 0) {
		return
	}
	f := returnFrame{ip: w[0], cs: uint16(w[1]), flags: w[2]}
	if f.flags&flagVM != 0 && c.cpl == 0 && !c.lma() {
		c.unmodelled(0, "return to virtual-8086 mode at %#x", c.R[rRIP])
		return
	}
	cs, ok := c.returnCode(&f)
	if !ok {
		return
	}
	ss, ok := c.popStack32(&f, cs)
	if !ok {
		return
	}
	c.commitReturn(&f, cs, ss)
}

// unblockNMI ends the blocking of further non-maskable interrupts, even when the return that does
// it faults (SDM vol. 3, 6.7.1).
func (c *CPU) unblockNMI() {
	c.nmiBlocked = false
	if c.nmi {
		c.Check |= engine.CheckInterrupts
	}
}

// stackWords reads words from the top of the stack upwards, beginning with that of index from. They
// stay there: the stack pointer changes when the instruction is sure to complete.
func stackWords[T width](c *CPU, w []uint64, from int) bool {
	for i := range w {
		v, ok := load[T](c, (c.R[rsp]+uint64(from+i)*uint64(bitsOf(T(0))/8))&c.AddrMask)
		if !ok {
			c.onStack()
			return false
		}
		w[i] = uint64(v)
	}
	return true
}

// returnCode reads and checks the code segment of a return, which is never to an inner level.
func (c *CPU) returnCode(f *returnFrame) (segment, bool) {
	cs, ok := c.readCode(f.cs)
	if !ok {
		return cs, false
	}
	if f.level() < c.cpl || dpl(cs.attr) > f.level() || dpl(cs.attr) < f.level() && !cs.conforming() {
		c.raiseCode(vecGP, uint32(f.cs&^3))
		return cs, false
	}
	return cs, c.finishCode(&cs)
}

// popStack32 completes a frame of 32-bit mode. The stack is in it when the level changes; otherwise
// it is the present one behind the three words that were read.
func (c *CPU) popStack32(f *returnFrame, cs segment) (segment, bool) {
	if f.level() == c.cpl {
		f.sp = (c.R[rsp] + 3*4) & c.AddrMask
		return c.seg[segSS], true
	}
	var w [2]uint64
	if !stackWords[uint32](c, w[:], 3) {
		return segment{}, false
	}
	f.sp, f.ss = w[0], uint16(w[1])
	return c.returnStack(f.ss, f.level(), c.lma() && cs.attr&attrLong != 0)
}

// returnStack reads and checks the stack segment of a transfer to level to. For 64-bit code it may be
// null but in user mode, as delivery leaves it for inner levels (SDM vol. 3, 6.14.3).
func (c *CPU) returnStack(sel uint16, to uint8, long bool) (segment, bool) {
	if sel&^3 == 0 && to < 3 && long {
		return segment{sel: sel}, true
	}
	if sel&^3 == 0 {
		c.raiseCode(vecGP, 0)
		return segment{}, false
	}
	d, ok := c.descriptor(sel)
	if !ok {
		return segment{}, false
	}
	s := unpack(sel, d)
	switch {
	case !s.writableData() || dpl(s.attr) != to || uint8(sel&3) != to:
		c.raiseCode(vecGP, uint32(sel&^3))
		return s, false
	case s.attr&attrPresent == 0:
		c.raiseCode(vecSS, uint32(sel&^3))
		return s, false
	case !long && !s.flat():
		c.unmodelled(uint32(sel&^3), "stack segment %#x with a base or a limit", sel)
		return s, false
	}
	c.accessed(&s)
	return s, true
}

// commitReturn is the part of a return that cannot fail. What of the flags it may change is the old
// level's to decide. RF is dropped when no breakpoint has ever been set that it could hold off: the
// engine would otherwise have to look at every instruction. One that is not armed now may be armed again by an
// interrupt in front of the instruction.
func (c *CPU) commitReturn(f *returnFrame, cs, ss segment) {
	mask := c.writableFlags() | flagRF
	if c.cpl == 0 {
		mask |= flagVIF | flagVIP
	}
	outward := f.level() > c.cpl
	c.setCS(cs)
	c.seg[segSS] = ss
	c.setCPL(f.level())
	c.R[rRIP], c.R[rsp] = f.ip&c.AddrMask, f.sp&c.AddrMask
	if outward {
		c.loseSegments()
	}
	c.setFlags(f.flags, mask)
	if c.dreg[7]&dr7Armed == 0 && c.dreg[0]|c.dreg[1]|c.dreg[2]|c.dreg[3] == 0 {
		c.setCtl(c.ctl &^ flagRF)
	}
	c.ReturnFromException()
	c.synchronized()
	if outward {
		c.Reprice(clIret, clIretOuter)
	} else {
		c.Reprice(clIret, clIret)
	}
}
