package x86

// Far transfers (SDM vol. 3, 5.8.1, and 5.8.6 for returns). Jumps and calls stay at their level, and a
// conforming segment is executed at it; call gates are not modelled.

// farCode reads the code segment of a jump or a call.
func (c *CPU) farCode(sel uint16) (segment, bool) {
	cs, ok := c.readCode(sel)
	if !ok {
		return cs, false
	}
	allowed := dpl(cs.attr) == c.cpl && uint8(sel&3) <= c.cpl
	if cs.conforming() {
		allowed = dpl(cs.attr) <= c.cpl
	}
	if !allowed {
		c.raiseCode(vecGP, uint32(sel&^3))
		return cs, false
	}
	return cs, c.finishCode(&cs)
}

// ljmp jumps through a far pointer in memory.
func ljmp[T width](c *CPU, in *inst) {
	if sel, ip, ok := loadFar[T](c, in); ok {
		c.jumpFar(sel, uint64(ip))
	}
}

// loadFar reads a far pointer: the offset comes first, the selector behind it.
func loadFar[T width](c *CPU, in *inst) (sel uint16, ip T, ok bool) {
	va := c.ea(in)
	if ip, ok = load[T](c, va); ok {
		sel, ok = load[uint16](c, (va+uint64(bitsOf(T(0))/8))&c.AddrMask)
	}
	return sel, ip, ok
}

// ljmpTo jumps to the far pointer in the instruction.
func ljmpTo(c *CPU, in *inst) { c.jumpFar(uint16(in.disp), in.imm) }

// jumpFar goes on in another code segment, whose RPL becomes the present level.
func (c *CPU) jumpFar(sel uint16, ip uint64) {
	if c.real() {
		c.jumpReal(sel, ip)
		return
	}
	cs, ok := c.farCode(sel)
	if !ok || !c.farTarget(ip) {
		return
	}
	cs.sel = sel&^3 | uint16(c.cpl)
	c.setCS(cs)
	c.R[rRIP] = ip & c.AddrMask
}

// farTarget raises #GP for a target that is not canonical.
func (c *CPU) farTarget(ip uint64) bool {
	if !canonical(ip) {
		c.raiseCode(vecGP, 0)
		return false
	}
	return true
}

// lcall calls through a far pointer in memory.
func lcall[T width](c *CPU, in *inst) {
	if sel, ip, ok := loadFar[T](c, in); ok {
		callFar(c, sel, ip)
	}
}

// lcallTo calls the far pointer in the instruction.
func lcallTo(c *CPU, in *inst) { callFar(c, uint16(in.disp), uint32(in.imm)) }

// callFar pushes the code segment and the address of the next instruction, and jumps. The return
// stack has only near calls.
func callFar[T width](c *CPU, sel uint16, ip T) {
	old, next, from := c.R[rsp], c.R[rRIP], c.seg[segCS].sel
	cs, ok := c.farCode(sel)
	if !ok || !c.farTarget(uint64(ip)) || !push(c, T(from)) {
		return
	}
	if !push(c, T(next)) {
		c.R[rsp] = old
		return
	}
	cs.sel = sel&^3 | uint16(c.cpl)
	c.setCS(cs)
	c.R[rRIP] = uint64(ip) & c.AddrMask
}

// lret returns to the same level or to an outer one, whose stack is on the stack behind the arguments
// that it drops from both (SDM vol. 2, RET).
func lret[T width](c *CPU, in *inst) {
	n := uint64(bitsOf(T(0)) / 8)
	var w [2]uint64
	if !stackWords[T](c, w[:], 0) {
		return
	}
	f := returnFrame{ip: w[0], cs: uint16(w[1])}
	cs, ok := c.returnCode(&f)
	if !ok {
		return
	}
	f.sp = (c.R[rsp] + 2*n + in.imm) & c.AddrMask
	if f.level() == c.cpl {
		if c.farTarget(f.ip) {
			c.setCS(cs)
			c.R[rsp], c.R[rRIP] = f.sp&c.AddrMask, f.ip&c.AddrMask
		}
		return
	}
	sp, ok1 := c.stackWord(f.sp, n)
	sel, ok2 := c.stackWord((f.sp+n)&c.AddrMask, n)
	if !ok1 || !ok2 {
		return
	}
	ss, ok := c.returnStack(uint16(sel), f.level(), c.lma() && cs.attr&attrLong != 0)
	if !ok || !c.farTarget(f.ip) {
		return
	}
	c.setCS(cs)
	c.seg[segSS] = ss
	c.setCPL(f.level())
	c.R[rsp], c.R[rRIP] = (sp+in.imm)&c.AddrMask, f.ip&c.AddrMask
	c.loseSegments()
}

// stackWord reads n bytes of the stack; false leaves an exception pending.
func (c *CPU) stackWord(va, n uint64) (v uint64, ok bool) {
	switch n {
	case 2:
		v, ok = widen(load[uint16](c, va))
	case 4:
		v, ok = widen(load[uint32](c, va))
	default:
		v, ok = load[uint64](c, va)
	}
	if !ok {
		c.onStack()
	}
	return v, ok
}

func widen[T width](v T, ok bool) (uint64, bool) { return uint64(v), ok }
