package x86

import "kprobesim/cpus/engine"

// Returns from exceptions (SDM vol. 2, IRET/IRETD/IRETQ, "Operation"). The two modes pop different
// frames and share the checks and the commit. Only the operand size of the mode is modelled: iretd
// in 64-bit mode and a 16-bit iret raise #UD.

// returnFrame is what iret pops. In 32-bit mode a return to the same level leaves sp and ss out.
type returnFrame struct {
	ip, flags, sp uint64
	cs, ss        uint16
}

// level is the one that is returned to: the RPL of the code segment.
func (f *returnFrame) level() uint8 { return uint8(f.cs & 3) }

// iret64 is iretq. All five words are popped, whatever the level (SDM vol. 3, 6.14.3). NT is not
// looked at, though hardware refuses a return with it.
func iret64(c *CPU, _ *inst) {
	c.unblockNMI()
	var w [5]uint64
	if !stackWords[uint64](c, w[:], 0) {
		return
	}
	f := returnFrame{ip: w[0], cs: uint16(w[1]), flags: w[2], sp: w[3], ss: uint16(w[4])}
	cs, ok := c.returnCode(&f)
	if !ok {
		return
	}
	if !canonical(f.ip) {
		c.raiseCode(vecGP, 0)
		return
	}
	ss, ok := c.returnStack(f.ss, f.level())
	if !ok {
		return
	}
	c.commitReturn(&f, cs, ss)
}

// iret32 is iretd. NT asks for a return to another task and VM for one to virtual-8086 mode,
// neither of which is modelled.
func iret32(c *CPU, _ *inst) {
	c.unblockNMI()
	var w [3]uint64
	if !stackWords[uint32](c, w[:], 0) {
		return
	}
	f := returnFrame{ip: w[0], cs: uint16(w[1]), flags: w[2]}
	if c.ctl&flagNT != 0 || f.flags&flagVM != 0 && c.cpl == 0 {
		c.unmodelled(0, "return to another task or to virtual-8086 mode at %#x", c.R[rRIP])
		return
	}
	cs, ok := c.returnCode(&f)
	if !ok {
		return
	}
	ss, ok := c.popStack32(&f)
	if !ok {
		return
	}
	c.loseSegments(f.level())
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

// returnCode reads and checks the code segment of a return, which is never to an inner level. A
// conforming segment of an inner level would be allowed and is not modelled.
func (c *CPU) returnCode(f *returnFrame) (segment, bool) {
	cs, ok := c.readCode(f.cs)
	if !ok {
		return cs, false
	}
	if f.level() < c.cpl || dpl(cs.attr) != f.level() {
		c.raiseCode(vecGP, uint32(f.cs&^3))
		return cs, false
	}
	cs.sel = f.cs
	return cs, true
}

// popStack32 completes a frame of 32-bit mode. The stack is in it when the level changes; otherwise
// it is the present one behind the three words that were read.
func (c *CPU) popStack32(f *returnFrame) (segment, bool) {
	if f.level() == c.cpl {
		f.sp = (c.R[rsp] + 3*4) & c.AddrMask
		return c.seg[segSS], true
	}
	var w [2]uint64
	if !stackWords[uint32](c, w[:], 3) {
		return segment{}, false
	}
	f.sp, f.ss = w[0], uint16(w[1])
	return c.returnStack(f.ss, f.level())
}

// returnStack reads and checks the stack segment of a transfer to level to. In 64-bit mode it may
// be null but for user mode, as delivery leaves it for inner levels (SDM vol. 3, 6.14.3).
func (c *CPU) returnStack(sel uint16, to uint8) (segment, bool) {
	if sel&^3 == 0 && to < 3 && c.long {
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
	case !c.long && (!s.flat() || !c.keepsSegments(to)):
		c.unmodelled(uint32(sel&^3),
			"return to level %d with segments that are not flat, or that it may not use", to)
		return s, false
	}
	return s, true
}

// commitReturn is the part of a return that cannot fail. What of the flags it may change is the old
// level's to decide. RF is dropped when no breakpoint is armed that it could hold off: the engine
// would otherwise have to look at every instruction.
func (c *CPU) commitReturn(f *returnFrame, cs, ss segment) {
	mask := c.writableFlags() | flagRF
	if c.cpl == 0 {
		mask |= flagVIF | flagVIP
	}
	c.seg[segCS], c.seg[segSS] = cs, ss
	c.setCPL(f.level())
	c.R[rRIP], c.R[rsp] = f.ip, f.sp
	c.setFlags(f.flags, mask)
	if c.dreg[7]&dr7Armed == 0 {
		c.ctl &^= flagRF
	}
	c.ReturnFromException()
	c.synchronized()
}
