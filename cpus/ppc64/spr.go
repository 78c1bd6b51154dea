package ppc64

// pvr is the version of the processor: POWER5, the revision from memory.
const pvr = 0x003a0300

// spr is a special-purpose register (Book III, Special Purpose Registers). One whose number has bit 4 set
// is privileged.
type spr struct {
	get   func(*CPU) uint64
	set   func(*CPU, uint64)
	class [2]uint8 // of mfspr and of mtspr
}

// plain is a register that is stored and no more.
func plain(at func(*CPU) *uint64) spr {
	return spr{
		get: func(c *CPU) uint64 { return *at(c) }, set: func(c *CPU, v uint64) { *at(c) = v },
		class: [2]uint8{clMfspr, clMtspr},
	}
}

// general is a register that has a place in Core.R.
func general(r int, from, to uint8) spr {
	s := plain(func(c *CPU) *uint64 { return &c.R[r] })
	s.class = [2]uint8{from, to}
	return s
}

func readOnly(get func(*CPU) uint64, class uint8) spr { return spr{get: get, class: [2]uint8{class}} }

// sprs are the registers by number.
var sprs = map[int]spr{
	1: {get: (*CPU).xer, set: (*CPU).setXER, class: [2]uint8{clMfxer, clMtxer}},
	8: general(rLR, clMflr, clMtlr),
	9: general(rCTR, clMflr, clMtlr),
	18: {
		get: func(c *CPU) uint64 { return c.dsisr }, set: func(c *CPU, v uint64) { c.dsisr = uint64(uint32(v)) },
		class: [2]uint8{clMfspr, clMtspr},
	},
	19: plain(func(c *CPU) *uint64 { return &c.dar }),
	22: {get: (*CPU).decrementer, set: (*CPU).setDecrementer, class: [2]uint8{clMfspr, clMtspr}},
	25: {get: func(c *CPU) uint64 { return c.sdr1 }, set: (*CPU).setSDR1, class: [2]uint8{clMfspr, clMtspr}},
	26: {
		get: func(c *CPU) uint64 { return c.srr[0] }, set: func(c *CPU, v uint64) { c.srr[0] = v &^ 3 },
		class: [2]uint8{clMfspr, clMtspr},
	},
	27:   plain(func(c *CPU) *uint64 { return &c.srr[1] }),
	136:  readOnly(func(c *CPU) uint64 { return c.ctrl }, clMfspr),
	152:  {set: func(c *CPU, v uint64) { c.ctrl = v & 1 }, class: [2]uint8{clMfspr, clMtspr}},
	259:  readOnly(func(c *CPU) uint64 { return c.sprg[3] }, clMfspr),
	268:  readOnly((*CPU).timeBase, clMftb),
	269:  readOnly(func(c *CPU) uint64 { return c.timeBase() >> 32 }, clMftb),
	272:  plain(func(c *CPU) *uint64 { return &c.sprg[0] }),
	273:  plain(func(c *CPU) *uint64 { return &c.sprg[1] }),
	274:  plain(func(c *CPU) *uint64 { return &c.sprg[2] }),
	275:  plain(func(c *CPU) *uint64 { return &c.sprg[3] }),
	280:  plain(func(c *CPU) *uint64 { return &c.asr }),
	284:  {set: setTBL, class: [2]uint8{clMftb, clMtspr}},
	285:  {set: setTBU, class: [2]uint8{clMftb, clMtspr}},
	287:  readOnly(func(*CPU) uint64 { return pvr }, clMfspr),
	1008: plain(func(c *CPU) *uint64 { return &c.hid[0] }),
	1009: plain(func(c *CPU) *uint64 { return &c.hid[1] }),
	1013: {get: func(c *CPU) uint64 { return c.dabr }, set: (*CPU).setDABR, class: [2]uint8{clMfspr, clMtspr}},
	1023: readOnly(func(c *CPU) uint64 { return uint64(c.Num) }, clMfspr),
}

func setTBL(c *CPU, v uint64) { c.setTimeBase(c.timeBase()&^(1<<32-1) | v&(1<<32-1)) }
func setTBU(c *CPU, v uint64) { c.setTimeBase(c.timeBase()&(1<<32-1) | v<<32) }

// sprPrivileged is the bit of a register's number that says so.
const sprPrivileged = 1 << 4

// formMfspr and formMtspr bind the function of a register. One that is not modelled is illegal, in
// problem state privileged if its number says so.
func formMfspr(d *decoder, _ *row) bool {
	n := d.spr()
	s := sprs[n]
	d.in.dst, d.in.imm = d.rt(), uint64(n)
	d.op.O1 = d.in.dst
	d.moves(s.class[0], n)
	switch {
	case s.get == nil:
		d.exec = unknownSPR
	case n == 8 || n == 9:
		d.exec, d.in.a = or, uint8(rLR+n-8)
		d.in.imm, d.op.S1 = 0, d.in.a
	default:
		d.exec = reading(s.get)
	}
	if n == 1 {
		d.op.S1, d.op.S2 = rXER, rCA
	}
	return true
}

func formMtspr(d *decoder, _ *row) bool {
	n := d.spr()
	s := sprs[n]
	d.in.a, d.in.imm = d.rt(), uint64(n)
	d.op.S1 = d.in.a
	d.moves(s.class[1], n)
	switch {
	case s.set == nil:
		d.exec = unknownSPR
	case n == 8 || n == 9:
		d.exec, d.in.dst, d.in.imm = or, uint8(rLR+n-8), 0
		d.op.O1 = d.in.dst
	default:
		d.exec = writing(s.set)
	}
	if n == 1 {
		d.op.O1, d.op.O2 = rXER, rCA
	}
	return true
}

// moves sets the class. What a privileged register changes may decide how the next instruction is
// executed, so it ends a block.
func (d *decoder) moves(class uint8, n int) {
	d.op.Class = class
	if n&sprPrivileged != 0 {
		d.op.Flags |= endsBlock
		d.in.aux = 1
	}
}

func reading(get func(*CPU) uint64) exec {
	return func(c *CPU, in *inst) {
		if in.aux == 0 || c.privileged() {
			c.R[in.dst&63] = get(c)
		}
	}
}

func writing(set func(*CPU, uint64)) exec {
	return func(c *CPU, in *inst) {
		if in.aux == 0 || c.privileged() {
			set(c, c.R[in.a&63])
		}
	}
}

func unknownSPR(c *CPU, in *inst) {
	if in.imm&sprPrivileged != 0 && !c.privileged() {
		return
	}
	c.unmodelled("special-purpose register %d at %#x", in.imm, c.R[rPC]-insnBytes)
	c.raise(vecProgram, srr1Illegal)
}

// formMftb is mfspr with numbers of its own for the time base.
func formMftb(d *decoder, _ *row) bool {
	d.in.dst = d.rt()
	d.op.O1 = d.in.dst
	switch n := d.spr(); n {
	case 268, 269:
		d.exec = reading(sprs[n].get)
		return true
	}
	return false
}
