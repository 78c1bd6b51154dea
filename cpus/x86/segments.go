package x86

import "kprobesim/cpus/engine"

// Segment registers in the manual's order, and the index of the flat base.
const (
	segES = iota
	segCS
	segSS
	segDS
	segFS
	segGS
	segFlat
)

// Attribute bits of a descriptor as kept in segment.attr (SDM vol. 3, 3.4.5). Bits 3 to 0 are the
// type, of which accessed, bit 0, is neither read nor written here. Bits 6 and 5 are the DPL.
const (
	attrWritable   = 1 << 1 // of data; of code: readable
	attrConforming = 1 << 2 // of code; of data: expands down
	attrCode       = 1 << 3
	attrSegment    = 1 << 4 // S: code or data, no system descriptor
	attrPresent    = 1 << 7
	attrLong       = 1 << 13
	attrBig        = 1 << 14

	// What flat segments of level 0 have, accessed and with a limit in pages.
	flatCode64 = 0xa09b
	flatCode32 = 0xc09b
	flatData   = 0xc093
)

// dpl is the level of a descriptor.
func dpl(attr uint16) uint8 { return uint8(attr >> 5 & 3) }

// setCPL changes the privilege level. Translations kept in front of the TLBs carry the rights of
// the level they were made at. Paging knows two modes only: levels 0 to 2 are supervisor (SDM vol.
// 3, 4.6).
func (c *CPU) setCPL(cpl uint8) {
	c.cpl = cpl
	if user := cpl == 3; user != c.User {
		c.User = user
		c.ForgetTranslations()
	}
}

// descriptor reads an entry of the GDT or LDT, by bit 2 of the selector (SDM vol. 3, 3.4.2); false
// leaves an exception pending. The first entry of the GDT is the null descriptor; that of the LDT
// is an entry like others. The error code is the selector without its RPL (6.13).
func (c *CPU) descriptor(sel uint16) (uint64, bool) {
	base, limit := c.gdt.base, uint32(c.gdt.limit)
	if sel&4 != 0 {
		base, limit = c.ldt.base, c.ldt.limit
	}
	if uint32(sel|7) > limit || sel&^3 == 0 {
		c.raiseCode(vecGP, uint32(sel&^3))
		return 0, false
	}
	return loadSystem[uint64](c, base+uint64(sel&^7))
}

// What a descriptor is, by its type (SDM vol. 3, 3.4.5.1).

func (s *segment) code() bool {
	return s.attr&(attrSegment|attrCode) == attrSegment|attrCode
}

// readable reports a segment that DS may hold: data, or code that may be read.
func (s *segment) readable() bool {
	return s.attr&attrSegment != 0 && s.attr&(attrCode|attrWritable) != attrCode
}

// writableData reports a data segment that may be written, as a stack must be.
func (s *segment) writableData() bool {
	return s.attr&(attrSegment|attrCode|attrWritable) == attrSegment|attrWritable
}

// expandsDown reports data whose offsets lie above its limit (SDM vol. 3, 5.3).
func (s *segment) expandsDown() bool { return s.attr&(attrCode|attrConforming) == attrConforming }

// conforming reports code that is executed at the level of its caller.
func (s *segment) conforming() bool {
	return s.attr&(attrCode|attrConforming) == attrCode|attrConforming
}

// unpack takes a descriptor apart (SDM vol. 3, figure 3-8). With G set the limit counts pages of 4
// KiB.
func unpack(sel uint16, d uint64) segment {
	s := segment{sel: sel, attr: uint16(d>>40) & 0xf0ff, base: d>>16&0xffffff | d>>56<<24}
	s.limit = uint32(d&0xffff | d>>32&0xf0000)
	if d>>55&1 != 0 {
		s.limit = s.limit<<12 | 0xfff
	}
	return s
}

// readCode reads a code segment descriptor for a transfer of control. What its DPL and RPL must be
// depends on the transfer and is the caller's to check. In 64-bit mode a segment without L would be
// one of compatibility mode; in 32-bit mode one without D has 16-bit operands.
func (c *CPU) readCode(sel uint16) (segment, bool) {
	d, ok := c.descriptor(sel)
	if !ok {
		return segment{}, false
	}
	s := unpack(sel, d)
	switch {
	case !s.code():
		c.raiseCode(vecGP, uint32(sel&^3))
		return s, false
	case s.attr&attrPresent == 0:
		c.raiseCode(vecNP, uint32(sel&^3))
		return s, false
	case c.long && s.attr&attrLong == 0:
		c.raiseCode(vecGP, uint32(sel&^3)) // compatibility mode is not modelled
		return s, false
	case !c.long && (s.attr&attrBig == 0 || !s.flat()):
		c.unmodelled(uint32(sel&^3), "code segment %#x of 16 bits or with a limit", sel)
		return s, false
	}
	return s, true
}

// loadSegment loads a data segment register (SDM vol. 2, MOV, "Operation"; vol. 3, 5.5). Null is
// allowed but in SS; 64-bit mode allows it there too but for user mode. In 64-bit mode the bases of
// ES, SS and DS are not used (SDM vol. 3, 3.4.4), so segBase stays zero. A load of SS holds
// interrupts and traps off for one instruction, so that the stack pointer can follow (SDM vol. 3,
// 6.8.3).
func (c *CPU) loadSegment(i uint8, sel uint16) {
	s := segment{sel: sel}
	if sel&^3 != 0 {
		d, ok := c.descriptor(sel)
		if !ok {
			return
		}
		s = unpack(sel, d)
		switch {
		case !s.readable(), i == segSS && !c.stackSegment(s), i != segSS && !c.reaches(s):
			c.raiseCode(vecGP, uint32(sel&^3))
			return
		case s.attr&attrPresent == 0:
			c.raiseCode(vecNP, uint32(sel&^3))
			return
		}
	} else if i == segSS && (!c.long || c.cpl == 3) {
		c.raiseCode(vecGP, 0)
		return
	}
	// the checks of the manual are done: what is left is what this model cannot do
	if !c.long && !limited(i) && !s.flat() {
		c.unmodelled(uint32(sel&^3), "data segment %#x with a base or a limit, other than in fs and gs", sel)
		return
	}
	c.seg[i] = s
	if i == segFS || i == segGS || !c.long {
		c.segBase[i] = s.base
	}
	if c.holdTraps = i == segSS; c.holdTraps {
		c.Single |= oneShadow
	}
}

// stackSegment reports whether s may go to SS: writable data of the present level.
func (c *CPU) stackSegment(s segment) bool {
	return s.writableData() && dpl(s.attr) == c.cpl && uint8(s.sel&3) == c.cpl
}

// Far transfers (SDM vol. 3, 5.8.1). They stay at their level: call gates, and returns outward, are
// not modelled. A jump or call does not compare the DPL of the segment with the level.

// lret returns to a segment of the same level.
func lret[T width](c *CPU, in *inst) {
	n := uint64(bitsOf(T(0)) / 8)
	ip, ok := load[T](c, c.R[rsp])
	if !ok {
		c.onStack()
		return
	}
	sel, ok := load[T](c, (c.R[rsp]+n)&c.AddrMask)
	if !ok {
		c.onStack()
		return
	}
	cs, ok := c.readCode(uint16(sel))
	if !ok {
		return
	}
	if uint8(sel&3) != c.cpl {
		c.raiseCode(vecGP, uint32(sel&^3)) // far returns to outer levels are not modelled
		return
	}
	cs.sel = uint16(sel)
	c.seg[segCS] = cs
	c.R[rsp] = (c.R[rsp] + 2*n + in.imm) & c.AddrMask
	c.R[rRIP] = uint64(ip)
}

// ljmp jumps through a far pointer in memory: the offset comes first, the selector behind it.
func ljmp[T width](c *CPU, in *inst) {
	va := c.ea(in)
	ip, ok := load[T](c, va)
	if !ok {
		return
	}
	if sel, ok := load[uint16](c, (va+uint64(bitsOf(T(0))/8))&c.AddrMask); ok {
		c.jumpFar(sel, uint64(ip))
	}
}

// ljmpTo jumps to the far pointer in the instruction.
func ljmpTo(c *CPU, in *inst) { c.jumpFar(uint16(in.disp), in.imm) }

// jumpFar goes on in another code segment, whose RPL becomes the present level.
func (c *CPU) jumpFar(sel uint16, ip uint64) {
	cs, ok := c.readCode(sel)
	if !ok {
		return
	}
	cs.sel = sel&^3 | uint16(c.cpl)
	c.seg[segCS] = cs
	c.R[rRIP] = ip
}

// lcall calls through a far pointer in memory.
func lcall[T width](c *CPU, in *inst) {
	va := c.ea(in)
	ip, ok := load[T](c, va)
	if !ok {
		return
	}
	if sel, ok := load[uint16](c, (va+uint64(bitsOf(T(0))/8))&c.AddrMask); ok {
		callFar(c, sel, ip)
	}
}

// lcallTo calls the far pointer in the instruction.
func lcallTo(c *CPU, in *inst) { callFar(c, uint16(in.disp), uint32(in.imm)) }

// callFar pushes the code segment and the address of the next instruction, and jumps. The return
// stack has only near calls.
func callFar[T width](c *CPU, sel uint16, ip T) {
	old, next, from := c.R[rsp], c.R[rRIP], c.seg[segCS].sel
	cs, ok := c.readCode(sel)
	if !ok || !push(c, T(from)) {
		return
	}
	if !push(c, T(next)) {
		c.R[rsp] = old
		return
	}
	cs.sel = sel&^3 | uint16(c.cpl)
	c.seg[segCS] = cs
	c.R[rRIP] = uint64(ip)
}

// Moves between segment and general registers, memory and the stack. The visible part alone is
// stored; a load fetches the descriptor and may fault. Memory operands have 16 bits whatever the
// operand size.
func movFromSeg[T width](c *CPU, in *inst) { put(c, in.dst, T(c.seg[in.aux].sel)) }
func movFromSegM(c *CPU, in *inst)         { store(c, c.ea(in), c.seg[in.aux].sel) }
func movToSeg(c *CPU, in *inst)            { c.loadSegment(in.aux, uint16(c.R[in.src&63])) }

func movToSegL(c *CPU, in *inst) {
	if v, ok := load[uint16](c, c.ea(in)); ok {
		c.loadSegment(in.aux, v)
	}
}

func pushSeg[T width](c *CPU, in *inst) { push(c, T(c.seg[in.aux].sel)) }

// popSeg puts the stack pointer back when the load of the segment faults.
func popSeg[T width](c *CPU, in *inst) {
	old := c.R[rsp]
	if v, ok := pop[T](c); ok {
		if c.loadSegment(in.aux, uint16(v)); c.Stop&engine.StopFault != 0 {
			c.R[rsp] = old
		}
	}
}

// Descriptor-table registers: 16 bits of limit, then the base in the width of the mode (SDM vol. 2,
// LGDT). Loads need level 0, stores none: UMIP is not modelled.

func loadTable[T width](c *CPU, in *inst, t *table) {
	if c.cpl != 0 {
		c.raiseCode(vecGP, 0)
		return
	}
	va := c.ea(in)
	limit, ok := load[uint16](c, va)
	if !ok {
		return
	}
	base, ok := load[T](c, va+2)
	if !ok {
		return
	}
	*t = table{uint64(base), limit}
	c.synchronized()
}

func storeTable[T width](c *CPU, in *inst, t table) {
	va := c.ea(in)
	if store(c, va, t.limit) {
		store(c, va+2, T(t.base))
	}
}

func lgdt[T width](c *CPU, in *inst) { loadTable[T](c, in, &c.gdt) }
func lidt[T width](c *CPU, in *inst) { loadTable[T](c, in, &c.idt) }
func sgdt[T width](c *CPU, in *inst) { storeTable[T](c, in, c.gdt) }
func sidt[T width](c *CPU, in *inst) { storeTable[T](c, in, c.idt) }

// loadSystemSegment loads TR or LDTR from a descriptor, which has 16 bytes in 64-bit mode (SDM vol.
// 3, 7.2.3). want is its type with S clear: 9, an available TSS, or 2, an LDT. A null LDT makes
// every selector into it invalid; a null TR does not exist. The TSS is not marked busy in its
// descriptor.
func (c *CPU) loadSystemSegment(sel uint16, want uint16, s *segment) {
	if c.cpl != 0 {
		c.raiseCode(vecGP, 0)
		return
	}
	if sel&^3 == 0 && want == 2 {
		*s = segment{}
		c.synchronized()
		return
	}
	d, ok := c.descriptor(sel)
	if !ok {
		return
	}
	var hi uint64
	if c.long {
		if hi, ok = loadSystem[uint64](c, c.gdt.base+uint64(sel&^7)+8); !ok {
			return
		}
	}
	x := unpack(sel, d)
	if x.attr&0x1f != want || x.attr&attrPresent == 0 {
		c.raiseCode(vecGP, uint32(sel&^3))
		return
	}
	x.base |= hi << 32
	*s = x
	c.synchronized()
}

func ltr(c *CPU, in *inst)  { c.loadSystemSegment(uint16(c.R[in.src&63]), 9, &c.tr) }
func lldt(c *CPU, in *inst) { c.loadSystemSegment(uint16(c.R[in.src&63]), 2, &c.ldt) }
func str(c *CPU, in *inst)  { put(c, in.dst, uint64(c.tr.sel)) }
func sldt(c *CPU, in *inst) { put(c, in.dst, uint64(c.ldt.sel)) }
