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

// verify sets ZF when a segment may be read, or written, from the present level (SDM vol. 2, VERR).
func (c *CPU) verify(sel uint16, write bool) {
	d, found, ok := c.lookup(sel)
	if !ok {
		return
	}
	s := unpack(sel, d)
	may := s.readable()
	if write {
		may = s.writableData()
	}
	c.setZF(found && may && c.reaches(s))
}

func verrR(c *CPU, in *inst) { c.verify(uint16(c.R[in.src&63]), false) }
func verwR(c *CPU, in *inst) { c.verify(uint16(c.R[in.src&63]), true) }

func verrM(c *CPU, in *inst) {
	if sel, ok := load[uint16](c, c.ea(in)); ok {
		c.verify(sel, false)
	}
}

func verwM(c *CPU, in *inst) {
	if sel, ok := load[uint16](c, c.ea(in)); ok {
		c.verify(sel, true)
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

// System registers of 16 bits. A register takes zeroes above them, memory 16 bits alone.

func strR[T width](c *CPU, in *inst)  { put(c, in.dst, T(c.tr.sel)) }
func strM(c *CPU, in *inst)           { store(c, c.ea(in), c.tr.sel) }
func sldtR[T width](c *CPU, in *inst) { put(c, in.dst, T(c.ldt.sel)) }
func sldtM(c *CPU, in *inst)          { store(c, c.ea(in), c.ldt.sel) }

// smsw stores as much of CR0 as a register has: the manual leaves what is above 16 bits undefined.
func smswR[T width](c *CPU, in *inst) { put(c, in.dst, T(c.cr0)) }
func smswM(c *CPU, in *inst)          { store(c, c.ea(in), uint16(c.cr0)) }

func ltrR(c *CPU, in *inst)  { c.loadTR(uint16(c.R[in.src&63])) }
func lldtR(c *CPU, in *inst) { c.loadLDT(uint16(c.R[in.src&63])) }
func lmswR(c *CPU, in *inst) { c.loadStatus(uint16(c.R[in.src&63])) }

func ltrM(c *CPU, in *inst)  { c.withSelector(in, (*CPU).loadTR) }
func lldtM(c *CPU, in *inst) { c.withSelector(in, (*CPU).loadLDT) }
func lmswM(c *CPU, in *inst) { c.withSelector(in, (*CPU).loadStatus) }

// withSelector loads an operand of 16 bits for an instruction that needs level 0, which is checked
// first.
func (c *CPU) withSelector(in *inst, do func(*CPU, uint16)) {
	if !c.privileged() {
		return
	}
	if v, ok := load[uint16](c, c.ea(in)); ok {
		do(c, v)
	}
}

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
