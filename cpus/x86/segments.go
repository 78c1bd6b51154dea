package x86

import "encoding/binary"

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
// type. Bits 6 and 5 are the DPL.
const (
	attrAccessed   = 1 << 0
	attrBusy       = 1 << 1 // of a TSS
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
		if c.cr0&cr0AM != 0 {
			c.checkAlignment()
		}
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
// depends on the transfer and is the caller's to check, before finishCode.
func (c *CPU) readCode(sel uint16) (segment, bool) {
	d, ok := c.descriptor(sel)
	if !ok {
		return segment{}, false
	}
	s := unpack(sel, d)
	if !s.code() || c.lma() && s.attr&(attrLong|attrBig) == attrLong|attrBig {
		c.raiseCode(vecGP, uint32(sel&^3))
		return s, false
	}
	return s, true
}

// finishCode is the end of readCode: the segment must be there, and one that is modelled. In long mode
// one without L is of compatibility mode. Outside of 64-bit mode one without D has 16-bit operands.
func (c *CPU) finishCode(s *segment) bool {
	code := uint32(s.sel &^ 3)
	switch {
	case s.attr&attrPresent == 0:
		c.raiseCode(vecNP, code)
		return false
	case c.lma() && s.attr&attrLong != 0:
	case s.attr&attrBig == 0 || !s.flat():
		c.unmodelled(code, "code segment %#x of 16 bits or with a limit", s.sel)
		return false
	}
	c.accessed(s)
	return true
}

// loadSegment loads a data segment register (SDM vol. 2, MOV, "Operation"; vol. 3, 5.5). Null is
// allowed but in SS; 64-bit mode allows it there too but for user mode. In 64-bit mode the bases of
// ES, SS and DS are not used (SDM vol. 3, 3.4.4), so segBase stays zero. False leaves an exception
// pending.
func (c *CPU) loadSegment(i uint8, sel uint16) bool {
	if c.real() {
		c.loadReal(i, sel)
		return true
	}
	s := segment{sel: sel}
	if sel&^3 != 0 {
		d, ok := c.descriptor(sel)
		if !ok {
			return false
		}
		s = unpack(sel, d)
		switch {
		case !s.readable(), i == segSS && !c.stackSegment(s), i != segSS && !c.reaches(s):
			c.raiseCode(vecGP, uint32(sel&^3))
			return false
		case s.attr&attrPresent == 0 && i == segSS:
			c.raiseCode(vecSS, uint32(sel&^3))
			return false
		case s.attr&attrPresent == 0:
			c.raiseCode(vecNP, uint32(sel&^3))
			return false
		}
	} else if i == segSS && (!c.long || c.cpl == 3) {
		c.raiseCode(vecGP, 0)
		return false
	}
	// the checks of the manual are done: only what this model cannot do is left
	if !c.long && !limited(i) && sel&^3 != 0 && !s.flat() {
		c.unmodelled(uint32(sel&^3), "data segment %#x with a base or a limit, other than in fs and gs", sel)
		return false
	}
	c.accessed(&s)
	c.seg[i] = s
	if i == segFS || i == segGS || !c.long {
		c.segBase[i] = s.base
	}
	c.lookForNull()
	return true
}

// toSegment loads a segment register by mov or pop. A load of SS holds interrupts and traps off for
// one instruction, so that the stack pointer can follow (SDM vol. 3, 6.8.3).
func (c *CPU) toSegment(i uint8, sel uint16) bool {
	if !c.loadSegment(i, sel) {
		return false
	}
	if c.holdTraps = i == segSS; c.holdTraps {
		c.Single |= oneShadow
	}
	return true
}

// accessed notes in the descriptor of a segment that is loaded that it was (SDM vol. 3, 3.4.5.1).
// Neither the store's time nor the rights of its page are modelled.
func (c *CPU) accessed(s *segment) {
	if s.sel&^3 != 0 && s.attr&(attrSegment|attrAccessed) == attrSegment {
		s.attr |= attrAccessed
		c.markDescriptor(s.sel, attrAccessed)
	}
}

// markDescriptor sets bits of the type in the descriptor of a selector.
func (c *CPU) markDescriptor(sel, bits uint16) {
	base := c.gdt.base
	if sel&4 != 0 {
		base = c.ldt.base
	}
	if pa, ok := c.Translate(base + uint64(sel&^7) + 5); ok {
		c.Memory.Store(binary.LittleEndian, pa, 1, c.Memory.Load(binary.LittleEndian, pa, 1)|uint64(bits))
	}
}

// stackSegment reports whether s may go to SS: writable data of the present level.
func (c *CPU) stackSegment(s segment) bool {
	return s.writableData() && dpl(s.attr) == c.cpl && uint8(s.sel&3) == c.cpl
}

// Moves between segment and general registers, memory and the stack. The visible part alone is
// stored; a load fetches the descriptor and may fault. Memory operands have 16 bits whatever the
// operand size.
func movFromSeg[T width](c *CPU, in *inst) { put(c, in.dst, T(c.seg[in.aux].sel)) }
func movFromSegM(c *CPU, in *inst)         { store(c, c.ea(in), c.seg[in.aux].sel) }
func movToSeg(c *CPU, in *inst)            { c.toSegment(in.aux, uint16(c.R[in.src&63])) }

func movToSegL(c *CPU, in *inst) {
	if v, ok := load[uint16](c, c.ea(in)); ok {
		c.toSegment(in.aux, v)
	}
}

func pushSeg[T width](c *CPU, in *inst) { push(c, T(c.seg[in.aux].sel)) }

// pushSeg32 writes 16 bits and leaves the rest of its slot (SDM vol. 2, PUSH). To the cost models it is a store of the
// slot, which the pop of a whole one finds.
func pushSeg32(c *CPU, in *inst) {
	sel, upper := uint32(c.seg[in.aux].sel), (c.R[rsp]-2)&c.AddrMask
	at := upper & 0xfff // in its page; the whole slot lies in the same one but where the slot begins or ends around it
	if pa, ok := c.Translate(upper); ok && at != 0 && at != 0xfff && c.Memory.Holds(pa, 2) {
		push(c, sel|uint32(c.Memory.Load(binary.LittleEndian, pa, 2))<<16)
		return
	}
	sp := c.R[rsp]
	if c.R[rsp] = upper; push(c, uint16(sel)) {
		sp -= 4
	}
	c.R[rsp] = sp & c.AddrMask
}

// popSeg puts the stack pointer back when the load of the segment faults.
func popSeg[T width](c *CPU, in *inst) {
	old := c.R[rsp]
	if v, ok := pop[T](c); ok {
		if !c.toSegment(in.aux, uint16(v)) {
			c.R[rsp] = old
		}
	}
}

// Descriptor-table registers: 16 bits of limit, then the base in the width of the mode (SDM vol. 2,
// LGDT), which must be canonical. Loads need level 0, stores none: UMIP is not modelled.

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
	v, ok := load[T](c, va+2)
	if !ok {
		return
	}
	base := uint64(v)
	if in.aux != 0 {
		base &= 1<<24 - 1
	}
	if !canonical(base) && c.long {
		c.raiseCode(vecGP, 0)
		return
	}
	*t = table{base, limit}
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

// loadTR loads the task register from an available TSS, which becomes busy (SDM vol. 2, LTR). Its
// descriptor has 16 bytes in long mode (SDM vol. 3, 7.2.3).
func (c *CPU) loadTR(sel uint16) {
	if !c.privileged() {
		return
	}
	if s, ok := c.systemSegment(sel, 9); ok {
		s.attr |= attrBusy
		c.markDescriptor(sel, attrBusy)
		c.tr = s
		c.synchronized()
	}
}

// loadLDT loads LDTR. A null LDT makes every selector into it invalid.
func (c *CPU) loadLDT(sel uint16) {
	if !c.privileged() {
		return
	}
	if sel&^3 == 0 {
		c.ldt = segment{}
		c.synchronized()
		return
	}
	if s, ok := c.systemSegment(sel, 2); ok {
		c.ldt = s
		c.synchronized()
	}
}

// systemSegment reads a descriptor of the GDT whose type with S clear is want: 9, an available TSS, or
// 2, an LDT. False leaves an exception pending.
func (c *CPU) systemSegment(sel, want uint16) (s segment, ok bool) {
	code := uint32(sel &^ 3)
	if sel&4 != 0 {
		c.raiseCode(vecGP, code)
		return s, false
	}
	d, ok := c.descriptor(sel)
	if !ok {
		return s, false
	}
	s = unpack(sel, d)
	if s.attr&0x1f != want {
		c.raiseCode(vecGP, code)
		return s, false
	}
	if c.lma() {
		hi, ok := c.upperDescriptor(sel)
		if !ok {
			return s, false
		}
		s.base |= hi << 32
	}
	if s.attr&attrPresent == 0 {
		c.raiseCode(vecNP, code)
		return s, false
	}
	return s, true
}

// upperDescriptor reads the second half of a system descriptor of long mode, which holds the upper
// half of its base and a type of zero (SDM vol. 3, figure 3-8 and 5.8.3.1).
func (c *CPU) upperDescriptor(sel uint16) (uint64, bool) {
	if uint32(sel&^7)+15 > uint32(c.gdt.limit) {
		c.raiseCode(vecGP, uint32(sel&^3))
		return 0, false
	}
	hi, ok := loadSystem[uint64](c, c.gdt.base+uint64(sel&^7)+8)
	if ok && hi>>40&0x1f != 0 {
		c.raiseCode(vecGP, uint32(sel&^3))
		return 0, false
	}
	return hi & 0xffffffff, ok
}
