package x86

// Instructions that ask what a selector names, and that store or load system registers of 16 bits.

// lookup reads the descriptor of a selector without raising anything for a selector that names none;
// ok is false when reading it faulted.
func (c *CPU) lookup(sel uint16) (d uint64, found, ok bool) {
	base, limit := c.gdt.base, uint32(c.gdt.limit)
	if sel&4 != 0 {
		base, limit = c.ldt.base, c.ldt.limit
	}
	if uint32(sel|7) > limit || sel&^3 == 0 {
		return 0, false, true
	}
	d, ok = loadSystem[uint64](c, base+uint64(sel&^7))
	return d, ok, ok
}

// System descriptors that lar and lsl tell about, by type as bits (SDM vol. 2, LAR and LSL, tables).
// The 16-bit kinds are none of long mode's.
const (
	larTypes     = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<9 | 1<<11 | 1<<12
	larTypesLong = 1<<2 | 1<<9 | 1<<11 | 1<<12
	lslTypes     = 1<<1 | 1<<2 | 1<<3 | 1<<9 | 1<<11
	lslTypesLong = 1<<2 | 1<<9 | 1<<11
)

// query reads a descriptor that the present level and the selector's RPL may see and whose kind is
// one of types, and sets ZF when there is one.
func (c *CPU) query(sel uint16, types, typesLong uint16) (d uint64, found bool) {
	d, found, ok := c.lookup(sel)
	if !ok {
		return 0, false
	}
	s := unpack(sel, d)
	if c.long {
		types = typesLong
	}
	if s.attr&attrSegment == 0 {
		found = found && types>>(s.attr&15)&1 != 0
	}
	if found && !(s.code() && s.conforming()) {
		found = dpl(s.attr) >= max(c.cpl, uint8(sel&3))
	}
	c.setZF(found)
	return d, found
}

// setZF changes ZF and keeps the others.
func (c *CPU) setZF(v bool) {
	f := c.flags() &^ flagZF
	if v {
		f |= flagZF
	}
	c.setArith(f)
}

// rights returns the value that lar loads: the second and third byte of a descriptor's upper half. The bits of the
// limit among them are undefined, and processors of today leave them in.
func (c *CPU) rights(sel uint16) (uint64, bool) {
	d, found := c.query(sel, larTypes, larTypesLong)
	return d >> 32 & 0xffff00, found
}

// limit returns the value that lsl loads: the limit in bytes.
func (c *CPU) limit(sel uint16) (uint64, bool) {
	d, found := c.query(sel, lslTypes, lslTypesLong)
	return uint64(unpack(sel, d).limit), found
}

func larR[T width](c *CPU, in *inst) { putFound[T](c, in, uint16(c.R[in.src&63]), c.rights) }
func lslR[T width](c *CPU, in *inst) { putFound[T](c, in, uint16(c.R[in.src&63]), c.limit) }

func larL[T width](c *CPU, in *inst) {
	if sel, ok := load[uint16](c, c.ea(in)); ok {
		putFound[T](c, in, sel, c.rights)
	}
}

func lslL[T width](c *CPU, in *inst) {
	if sel, ok := load[uint16](c, c.ea(in)); ok {
		putFound[T](c, in, sel, c.limit)
	}
}

// putFound writes what a selector names, where it names something.
func putFound[T width](c *CPU, in *inst, sel uint16, find func(uint16) (uint64, bool)) {
	if v, ok := find(sel); ok {
		put(c, in.dst, T(v))
	}
}

// verr and verw set ZF when a segment may be read, or written, from the present level (SDM vol. 2, VERR).
func verr(c *CPU, sel uint16) { c.verify(sel, (*segment).readable) }
func verw(c *CPU, sel uint16) { c.verify(sel, (*segment).writableData) }

func (c *CPU) verify(sel uint16, may func(*segment) bool) {
	if d, found, ok := c.lookup(sel); ok {
		s := unpack(sel, d)
		c.setZF(found && may(&s) && c.reaches(s))
	}
}

// arpl raises the RPL of a selector to that of another one, and says so in ZF. 64-bit mode has movsxd
// in its place.
func arpl(c *CPU, sel, from uint16) uint16 {
	below := sel&3 < from&3
	c.setZF(below)
	if below {
		sel = sel&^3 | from&3
	}
	return sel
}

func arplR(c *CPU, in *inst) {
	put(c, in.dst, arpl(c, get[uint16](c, in.dst), get[uint16](c, in.src)))
}

// arplM writes its operand, and asks for the right to, only when it raises the RPL.
func arplM(c *CPU, in *inst) {
	if !c.permitsAny(in, 2, false) {
		return
	}
	va := c.ea(in)
	sel, ok := load[uint16](c, va)
	from := get[uint16](c, in.src)
	if ok && sel&3 < from&3 {
		ok = c.permitsAny(in, 2, true) && store(c, va, sel&^3|from&3)
	}
	if ok {
		arpl(c, sel, from)
	}
}

// System registers of 16 bits, as they are stored. smsw stores as much of CR0 as a register has: the manual leaves what is
// above 16 bits undefined.

func sldt(c *CPU) uint64 { return uint64(c.ldt.sel) }
func str(c *CPU) uint64  { return uint64(c.tr.sel) }
func smsw(c *CPU) uint64 { return c.cr0 }

// loadStatus is lmsw: it sets the four lowest bits of CR0, but cannot clear PE (SDM vol. 2, LMSW).
func (c *CPU) loadStatus(v uint16) {
	if c.privileged() && c.writeCR(0, c.cr0&^0xe|uint64(v&0xf)) {
		c.synchronized()
	}
}

// farPointer loads a register and a segment; in.aux is the segment. Unlike mov, lss does not hold
// interrupts off.
func farPointer[T width](c *CPU, in *inst) {
	if sel, v, ok := loadFar[T](c, in); ok && c.loadSegment(in.aux, sel) {
		put(c, in.dst, v)
	}
}
