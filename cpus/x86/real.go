package x86

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// Code of 16 bits, as far as the start of further processors needs it: real mode (SDM vol. 3, 20.1), in which a start-up
// interrupt has a processor begin, and the instructions behind the one that sets CR0.PE, up to the far jump that leaves
// for a code segment of 32 bits.
//
// The instruction pointer holds a linear address here, that of the segment's base and the offset, so that fetching is
// the same as in the other modes. Explicit operands in memory have the segment that the instruction says, and are held
// against its limit.
//
// Left out, and refused by name: exceptions and interrupts, whose vectors real mode has in a table of its own; string
// instructions; calls and returns that are far or indirect; stacks that wrap; jumps out of the segment; and 16-bit code
// segments of descriptors.

// RealMode is the Root (cpus.Bus) of a CPU that waits for a start-up interrupt, and then begins in real mode at the
// address that Boot gives.
const RealMode = ^uint64(1)

// What a segment of real mode is to the checks of an access: data that may be written, of 64 KiB.
const (
	realLimit = 0xffff
	realCode  = flatCode32 &^ (attrBig | 0x8000)
	realData  = flatData &^ (attrBig | 0x8000)
)

// real reports real mode.
func (c *CPU) real() bool { return c.cr0&cr0PE == 0 }

// resetReal is the state in which a processor waits for its start (SDM vol. 3, table 9-1).
func (c *CPU) resetReal() {
	c.long, c.short16, c.AddrMask = false, true, 1<<32-1
	c.cr0, c.cr3, c.cr4 = cr0ET, 0, 0
	c.msr.efer = 0
	for i := range c.seg {
		c.seg[i] = realSegment(0, realData)
	}
	c.seg[segCS] = realSegment(0xf000, realCode)
	c.SwitchMode(2)
}

// realSegment is the segment of a selector in real mode.
func realSegment(sel, attr uint16) segment {
	return segment{sel: sel, attr: attr, base: uint64(sel) << 4, limit: realLimit}
}

// beginReal goes on at a physical address below 1 MiB, as a start-up interrupt says (SDM vol. 3, 8.4.3): at the first
// instruction of a segment that begins there.
func (c *CPU) beginReal(at uint64) {
	c.seg[segCS] = realSegment(uint16(at>>4), realCode)
	c.segBase[segCS] = c.seg[segCS].base
}

// jumpReal goes on in another segment of real mode.
func (c *CPU) jumpReal(sel uint16, ip uint64) {
	if ip > realLimit {
		c.raiseCode(vecGP, 0)
		return
	}
	c.seg[segCS] = realSegment(sel, realCode)
	c.segBase[segCS] = c.seg[segCS].base
	c.R[rRIP] = c.seg[segCS].base + ip
}

// loadReal loads a data segment register in real mode: no descriptor is read.
func (c *CPU) loadReal(i uint8, sel uint16) {
	c.seg[i] = realSegment(sel, realData)
	c.segBase[i] = c.seg[i].base
}

// refuseDelivery gives up: an exception or an interrupt of 16-bit code would go through what is not modelled.
func (c *CPU) refuseDelivery(f fault) {
	detail := fmt.Sprintf("exceptions and interrupts in 16-bit code are not modelled: %s at %#x", vectorName(f.vector), c.R[rRIP])
	if c.Counts.Unmodelled > 0 {
		detail += "; what was not modelled last is " + c.Counts.LastUnknown
	}
	c.Exit(cpus.Exit{Reason: cpus.Shutdown, Detail: detail})
	c.Halted = true
}

// bind16 makes an instruction that is bound one of 16-bit code. False is for what is not modelled.
func (d *decoder) bind16() bool {
	switch {
	case d.op.Class == clString || d.op.Class == clCompareString || d.op.Class == clRepStart || d.op.Class == clIret,
		d.op.Class == clInt, d.op.Class == clFar && d.x.Op != x86asm.LJMP:
		return false
	case d.op.Flags&engine.Branches != 0 || plainEnd(d.op.Class):
		return d.branch16()
	case d.op.Flags&(engine.Pushes|engine.Pops) != 0:
		return d.stack16()
	}
	return d.access16()
}

// branch16 holds a near branch inside of its segment. A call and a return have their address on the stack as an offset.
func (d *decoder) branch16() bool {
	_, relative := d.x.Args[0].(x86asm.Rel)
	switch d.x.Op {
	case x86asm.CALL, x86asm.RET:
		if d.x.DataSize != 16 || d.x.Op == x86asm.CALL && !relative {
			return false
		}
	default:
		if !relative {
			return false
		}
	}
	run := d.exec
	d.exec = func(c *CPU, in *inst) {
		from := c.R[rRIP]
		if run(c, in); c.Stop&engine.StopFault == 0 && c.R[rRIP]-c.seg[segCS].base > realLimit {
			c.R[rRIP] = from
			c.unmodelled(0, "a jump out of a 16-bit code segment at %#x", from)
		}
	}
	return true
}

// call16 calls by displacement.
func call16(c *CPU, in *inst) {
	if c.onStack16(func() bool { return push(c, uint16(c.R[rRIP]-c.seg[segCS].base)) }) {
		c.called(in)
	}
}

// ret16 returns from it.
func ret16(c *CPU, in *inst) {
	var ip uint16
	if c.onStack16(func() (ok bool) { ip, ok = pop[uint16](c); return ok }) {
		c.R[rsp] = c.R[rsp]&^0xffff | (c.R[rsp]+in.imm)&0xffff
		c.ReturnTo(c.seg[segCS].base + uint64(ip))
	}
}

// stack16 lets an instruction use 16 bits of the stack pointer, in the segment of SS.
func (d *decoder) stack16() bool {
	for _, a := range d.x.Args {
		switch a := a.(type) {
		case x86asm.Mem:
			return false
		case x86asm.Reg:
			if n, _, ok := register(a); ok && n == rsp {
				return false
			}
		}
	}
	run := d.exec
	d.exec = func(c *CPU, in *inst) {
		c.onStack16(func() bool { run(c, in); return c.Stop&engine.StopFault == 0 })
	}
	return true
}

// onStack16 does something with the stack while the stack pointer is a linear address.
func (c *CPU) onStack16(do func() bool) bool {
	const room = 8
	old, base := c.R[rsp], c.seg[segSS].base
	if sp := old & 0xffff; sp < room || sp > 0x10000-room {
		c.unmodelled(0, "a stack of 16 bits that wraps, at %#x", sp)
		return false
	}
	c.R[rsp] = base + old&0xffff
	ok := do()
	if c.R[rsp] = old&^0xffff | (c.R[rsp]-base)&0xffff; !ok {
		c.R[rsp] = old
	}
	return ok
}

// access16 holds an operand in memory against its segment.
func (d *decoder) access16() bool {
	var m x86asm.Mem
	found := false
	for _, a := range d.x.Args {
		if a, ok := a.(x86asm.Mem); ok {
			m, found = a, true
		}
	}
	if !found || d.op.Flags&(engine.Loads|engine.Stores) == 0 {
		return true
	}
	if d.in.seg == segFlat {
		d.in.seg = segDS
		switch m.Base {
		case x86asm.BP, x86asm.EBP, x86asm.ESP:
			d.in.seg = segSS
		}
	}
	return d.permitted()
}
