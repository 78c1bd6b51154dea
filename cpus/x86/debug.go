package x86

import "kprobesim/cpus/engine"

// Debug registers (SDM vol. 3, 17.2). The bits that read as one are kept set. DR7's local and
// global enable bits have the same effect, since tasks are not switched by hardware, and LE and GE
// have none.
const (
	dr6Ones  = 0xffff0ff0
	dr6BS    = 1 << 14
	dr6BD    = 1 << 13
	dr7Ones  = 1 << 10
	dr7Armed = 0xff
	dr7GD    = 1 << 13
)

// debugAccess checks a move to or from a debug register and returns the number of the one that is
// meant. DR4 and DR5 are other names of DR6 and DR7 unless CR4.DE is set (SDM vol. 3, 17.2.2). With
// DR7.GD set any access is #DB, which lets a debugger keep the registers; GD is cleared, so that
// the handler can use them (17.2.4).
func (c *CPU) debugAccess(in *inst) (uint8, bool) {
	if !c.privileged() {
		return 0, false
	}
	n := in.aux
	if n == 4 || n == 5 {
		if c.cr4&cr4DE != 0 {
			c.raise(vecUD)
			return 0, false
		}
		n += 2
	}
	if c.dreg[7]&dr7GD != 0 {
		c.dreg[6] |= dr6BD
		c.dreg[7] &^= dr7GD
		c.raise(vecDB)
		return 0, false
	}
	return n, true
}

// movFromDR needs no check of its operand size: it is that of the mode.
func movFromDR(c *CPU, in *inst) {
	if n, ok := c.debugAccess(in); ok {
		c.R[in.dst&63] = c.dreg[n&7]
	}
}

// movToDR writes a debug register. The upper halves of DR6 and DR7 are reserved (SDM vol. 3,
// 17.2.6), bits that are fixed keep their values.
func movToDR(c *CPU, in *inst) {
	n, ok := c.debugAccess(in)
	if !ok {
		return
	}
	v := c.R[in.src&63]
	switch {
	case n >= 6 && v>>32 != 0:
		c.raiseCode(vecGP, 0)
		return
	case n == 6:
		v = v&0xe00f | dr6Ones
	case n == 7:
		v = v&^0xd800 | dr7Ones
	}
	c.dreg[n&7] = v
	c.arm()
	c.Check |= engine.CheckState
	c.synchronized()
}

// arm has the engine look at what DR7 arms. No source gives a cost of armed registers for code that does not
// hit them, and none is modelled.
func (c *CPU) arm() {
	var data [][2]uint64
	var code []uint64
	for i := range 4 {
		switch kind, length, ok := c.armed(i); {
		case !ok:
		case kind == watchExecution:
			code = append(code, c.dreg[i])
		case kind != watchPorts:
			at := c.dreg[i] &^ (length - 1)
			data = append(data, [2]uint64{at, at + length})
		}
	}
	if c.aligned {
		data = [][2]uint64{{0, ^uint64(0)}}
	}
	c.WatchData(data)
	c.WatchCode(code)
}

// checkAlignment has every data access looked at while user mode has asked for #AC (SDM vol. 3,
// 6.15, "Alignment Check Exception").
func (c *CPU) checkAlignment() {
	if on := c.cr0&cr0AM != 0 && c.ctl&flagAC != 0 && c.cpl == 3; on != c.aligned {
		c.aligned = on
		c.arm()
	}
}

// Types of breakpoint registers (SDM vol. 3, 17.2.4). There are no ports here, so that watchPorts, which is
// defined with CR4.DE, never hits.
const (
	watchExecution = iota
	watchWrites
	watchPorts
	watchAccesses
)

// armed returns the type and length fields of an enabled breakpoint register (SDM vol. 3, 17.2.4).
// Lengths are powers of two and the address is taken as aligned to them.
func (c *CPU) armed(i int) (kind, length uint64, ok bool) {
	d := c.dreg[7]
	if d>>(2*i)&3 == 0 {
		return 0, 0, false
	}
	f := d >> (16 + 4*i)
	return f & 3, [4]uint64{1, 2, 8, 4}[f>>2&3], true
}

// Watch implements engine.Translator: it raises #AC where alignment is checked, and notes data accesses
// that a breakpoint register covers; the trap follows the instruction. A load of an operand in two pages
// is made byte by byte, and #AC not raised.
func (c *CPU) Watch(va uint64, n int, write bool) bool {
	if c.aligned && c.User && va&uint64(n-1) != 0 {
		c.raiseCode(vecAC, 0)
		return false
	}
	for i := range 4 {
		kind, length, ok := c.armed(i)
		if !ok || kind != watchAccesses && (kind != watchWrites || !write) {
			continue
		}
		if at := c.dreg[i] &^ (length - 1); va < at+length && at < va+uint64(n) {
			c.watchHit |= 1 << i
			c.Stop |= engine.StopTrap
		}
	}
	return true
}

// breakOnFetch takes an instruction breakpoint at rip, a fault, before the instruction (SDM vol. 3,
// 17.3.1.1); RF holds it off, so that the handler can return to the instruction. Any address
// matches exactly: the length of such a breakpoint should be 1 and is not looked at.
func (c *CPU) breakOnFetch() bool {
	if c.ctl&flagRF != 0 {
		return false
	}
	hit := c.breaksHere()
	if hit == 0 {
		return false
	}
	c.dreg[6] = c.dreg[6]&^uint64(0xf) | hit
	c.raise(vecDB)
	c.Deliver()
	return true
}

// breaksHere are the instruction breakpoints at rip, as DR6 has them.
func (c *CPU) breaksHere() (hit uint64) {
	for i := range 4 {
		if kind, _, ok := c.armed(i); ok && kind == watchExecution && c.dreg[i] == c.R[rRIP] {
			hit |= 1 << i
		}
	}
	return hit
}
