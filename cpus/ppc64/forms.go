package ppc64

import "kprobesim/cpus/engine"

// Binding of operands, by instruction form (Book I, Instruction Formats). Each function fills the operands
// and the registers that the engine waits for.

// formD is arithmetic with a signed immediate, formDS with one that is shifted by 16 bits. RA = 0 is the
// number zero.
func formD(d *decoder, _ *row) bool {
	d.in.imm = d.si()
	return d.immediate(d.raOrZero())
}

func formDS(d *decoder, _ *row) bool {
	d.in.imm = d.si() << 16
	return d.immediate(d.raOrZero())
}

// formDA is arithmetic with a signed immediate and a register that may be r0.
func formDA(d *decoder, _ *row) bool {
	d.in.imm = d.si()
	return d.immediate(d.ra())
}

func (d *decoder) immediate(a uint8) bool {
	d.in.dst, d.in.a = d.rt(), a
	d.op.O1, d.op.S1 = d.in.dst, a
	return true
}

// formXO is arithmetic with two registers; formXOA has one, formXOM one and the number -1.
func formXO(d *decoder, _ *row) bool {
	d.in.dst, d.in.a, d.in.b = d.rt(), d.ra(), d.rb()
	d.op.O1, d.op.S1, d.op.S2 = d.in.dst, d.in.a, d.in.b
	return true
}

func formXOA(d *decoder, _ *row) bool { return d.immediate(d.ra()) }

func formXOM(d *decoder, _ *row) bool {
	d.in.imm = ^uint64(0)
	return d.immediate(d.ra())
}

// formLogic is logic with two registers, formLogicI and formLogicIS with an unsigned immediate.
func formLogic(d *decoder, _ *row) bool {
	d.in.b = d.rb()
	d.op.S2 = d.in.b
	return d.logic()
}

func formLogicI(d *decoder, _ *row) bool {
	d.in.imm = d.ui()
	return d.logic()
}

func formLogicIS(d *decoder, _ *row) bool {
	d.in.imm = d.ui() << 16
	return d.logic()
}

// logic binds RA as the result and RS as a source, which all logical and shift instructions have.
func (d *decoder) logic() bool {
	d.in.dst, d.in.a = d.ra(), d.rt()
	d.op.O1, d.op.S1 = d.in.dst, d.in.a
	return true
}

// formShift has the count in the instruction: formShiftD has six bits of it.
func formShift(d *decoder, _ *row) bool {
	d.in.sh = uint8(d.word >> 11 & 31)
	return d.logic()
}

func formShiftD(d *decoder, _ *row) bool {
	d.in.sh = d.sh6()
	return d.logic()
}

func (d *decoder) sh6() uint8 { return uint8(d.word>>11&31 | d.word>>1&1<<5) }

// mb6 is the field of six bits that the manual calls mb or me.
func (d *decoder) mb6() uint { return uint(d.word>>6&31 | d.word>>5&1<<5) }

// mask has ones from bit mb to bit me in the manual's numbering, around the end when mb is behind me.
func mask(mb, me uint) uint64 {
	m := ^uint64(0)>>mb ^ ^uint64(0)>>me>>1
	if mb > me {
		return ^m
	}
	return m
}

// formM rotates a word under a mask, formMB by a register.
func formM(d *decoder, _ *row) bool {
	d.in.imm = mask(uint(d.word>>6&31)+32, uint(d.word>>1&31)+32)
	return formShift(d, nil)
}

func formMB(d *decoder, _ *row) bool {
	d.in.imm = mask(uint(d.word>>6&31)+32, uint(d.word>>1&31)+32)
	return formLogic(d, nil)
}

// formMInsert is formM of an instruction that keeps bits of its destination.
func formMInsert(d *decoder, _ *row) bool {
	formM(d, nil)
	d.op.S2 = d.in.dst
	return true
}

// The rotations of doublewords differ in what the field mb means: where the mask begins (rldicl),
// where it ends (rldicr), where it begins with its end at the shift (rldic, rldimi).
func formMDLeft(d *decoder, _ *row) bool {
	d.in.imm = mask(d.mb6(), 63)
	return formShiftD(d, nil)
}

func formMDRight(d *decoder, _ *row) bool {
	d.in.imm = mask(0, d.mb6())
	return formShiftD(d, nil)
}

func formMD(d *decoder, _ *row) bool {
	d.in.imm = mask(d.mb6(), 63-uint(d.sh6()))
	return formShiftD(d, nil)
}

func formMDInsert(d *decoder, _ *row) bool {
	formMD(d, nil)
	d.op.S2 = d.in.dst
	return true
}

func formMDSLeft(d *decoder, _ *row) bool {
	d.in.imm = mask(d.mb6(), 63)
	return formLogic(d, nil)
}

func formMDSRight(d *decoder, _ *row) bool {
	d.in.imm = mask(0, d.mb6())
	return formLogic(d, nil)
}

// formCompare compares registers, formCompareI and formCompareU with an immediate.
func formCompare(d *decoder, _ *row) bool {
	d.in.b = d.rb()
	d.op.S2 = d.in.b
	return d.compare()
}

func formCompareI(d *decoder, _ *row) bool {
	d.in.imm = d.si()
	return d.compare()
}

func formCompareU(d *decoder, _ *row) bool {
	d.in.imm = d.ui()
	return d.compare()
}

func (d *decoder) compare() bool {
	d.in.dst, d.in.a = rCR0+d.bf(), d.ra()
	d.op.O1, d.op.S1, d.op.S3 = d.in.dst, d.in.a, rXER
	return true
}

// formTrap and formTrapI: the conditions TO are in aux.
func formTrap(d *decoder, _ *row) bool {
	d.in.a, d.in.b, d.in.aux = d.ra(), d.rb(), d.rt()
	d.op.S1, d.op.S2 = d.in.a, d.in.b
	return true
}

func formTrapI(d *decoder, _ *row) bool {
	d.in.a, d.in.imm, d.in.aux = d.ra(), d.si(), d.rt()
	d.op.S1 = d.in.a
	return true
}

// Operands in memory: formLoad and formStore with a displacement of 16 bits, with four in front in the
// doubleword forms, and formLoadX and formStoreX with an index.
func formLoad(d *decoder, r *row) bool {
	d.in.imm = d.si()
	return d.load(r)
}

func formLoadDS(d *decoder, r *row) bool {
	d.in.imm = d.si() &^ 3
	return d.load(r)
}

func formLoadX(d *decoder, r *row) bool {
	d.in.b = d.rb()
	return d.load(r)
}

func formStore(d *decoder, r *row) bool {
	d.in.imm = d.si()
	return d.store(r)
}

func formStoreDS(d *decoder, r *row) bool {
	d.in.imm = d.si() &^ 3
	return d.store(r)
}

func formStoreX(d *decoder, r *row) bool {
	d.in.b = d.rb()
	return d.store(r)
}

func (d *decoder) load(r *row) bool {
	d.address(r)
	d.in.dst = d.rt()
	d.op.O1 = d.in.dst
	d.op.Flags |= engine.Loads
	return !d.updates(r) || d.ra() != d.rt()
}

func (d *decoder) store(r *row) bool {
	d.address(r)
	d.in.s = d.rt()
	d.op.S1 = d.in.s
	d.op.Flags |= engine.Stores
	return true
}

// address binds the operand's address. The forms with update have RA as a result; RA = 0 is
// invalid there, and so is a load into its own address (Book I, Fixed-Point Load Instructions): both are
// illegal here.
func (d *decoder) address(r *row) {
	d.in.a = d.raOrZero()
	if d.updates(r) {
		d.in.a = d.ra()
		d.op.O2 = d.in.a
	}
	d.op.Base, d.op.Index = d.in.a, d.in.b
}

func (d *decoder) updates(r *row) bool {
	switch r.class {
	case clLoadUpdate, clLoadUpdateIndexed, clStoreUpdate, clStoreUpdateIndexed:
		return true
	}
	return false
}

// formMultiple loads the registers from one to r31.
func formMultiple(d *decoder, r *row) bool {
	d.alsoLoads(32 - d.rt())
	return formLoad(d, r)
}

// formString is a move of bytes whose number is in the instruction; 0 means 32.
func formString(d *decoder, r *row) bool {
	d.in.sh = (d.rb()-1)&31 + 1
	if r.flags&engine.Stores != 0 {
		return d.store(r)
	}
	d.alsoLoads((d.in.sh + 3) / 4)
	return d.load(r)
}

// formStringX loads as many bytes as XER says, so that any register may be a result.
func formStringX(d *decoder, r *row) bool {
	d.alsoLoads(32)
	return formLoadX(d, r)
}

// alsoLoads names so many registers from rt on as results, behind r31 those from r0 on.
func (d *decoder) alsoLoads(n uint8) {
	for i := range n {
		d.op.Also |= 1 << ((d.rt() + i) & 31)
	}
}

// formTouch has an address and no data.
func formTouch(d *decoder, r *row) bool {
	d.in.b = d.rb()
	d.address(r)
	return true
}

// Branches: imm is the distance from the instruction behind, or to the absolute address.
func formI(d *decoder, _ *row) bool {
	return d.branch(uint64(int64(int32(d.word<<6)>>6) &^ 3))
}

// formB has a condition: the field of the condition register is s, the bit in it sh, BO aux.
func formB(d *decoder, _ *row) bool {
	d.condition()
	d.branch(d.si() &^ 3)
	if d.in.aux&boAlways == boAlways {
		d.op.Class = clBranch
	} else {
		d.exec = conditionalBranch(&d.in, d.word&1 != 0)
	}
	return true
}

func (d *decoder) branch(to uint64) bool {
	to -= insnBytes
	if d.word&2 != 0 { // AA
		to -= d.pc
	}
	d.in.imm = to
	d.exec = jump
	if d.word&1 != 0 { // LK
		d.op.O2 = rLR
		d.exec = call
		if d.word == getPC {
			d.exec = linkNext
		}
	}
	return true
}

// condition binds BO and BI (Book I, Branch Instructions).
func (d *decoder) condition() {
	bi := d.ra()
	d.in.aux, d.in.s, d.in.sh = d.rt(), rCR0+bi>>2, crLT>>(bi&3)
	if d.in.aux&boNoCondition == 0 {
		d.op.S1 = d.in.s
	}
	if d.in.aux&boNoCount == 0 {
		d.op.S2, d.op.O1 = rCTR, rCTR
	}
}

// formXLLR and formXLCTR branch to a register. A branch to the count register that counts is invalid.
func formXLLR(d *decoder, _ *row) bool {
	d.condition()
	d.op.S3 = rLR
	return d.toRegister(branchLR, branchLRCond, branchLRCall)
}

func formXLCTR(d *decoder, _ *row) bool {
	d.condition()
	d.op.S3 = rCTR
	return d.in.aux&boNoCount != 0 && d.toRegister(branchCTR, branchCTRCond, branchCTRCall)
}

func (d *decoder) toRegister(always, cond, link exec) bool {
	d.exec = cond
	if d.in.aux&boAlways == boAlways {
		d.exec = always
	}
	if d.word&1 != 0 {
		d.op.O2 = rLR
		d.exec = link
	}
	return true
}

// formCR is logic on bits of the condition register: dst, a, b are fields; aux, sh and imm hold the bits
// BT, BA, BB.
func formCR(d *decoder, _ *row) bool {
	bt, ba, bb := d.rt(), d.ra(), d.rb()
	d.in.dst, d.in.a, d.in.b = rCR0+bt>>2, rCR0+ba>>2, rCR0+bb>>2
	d.in.aux, d.in.sh, d.in.imm = 3-bt&3, 3-ba&3, uint64(3-bb&3)
	d.op.O1, d.op.S1, d.op.S2, d.op.S3 = d.in.dst, d.in.a, d.in.b, d.in.dst
	if bt != ba && bt != bb {
		d.op.Class = clCRDelayed
	}
	return true
}

// formCRField moves a field of the condition register.
func formCRField(d *decoder, _ *row) bool {
	d.in.dst, d.in.a = rCR0+d.bf(), rCR0+uint8(d.word>>18&7)
	d.op.O1, d.op.S1 = d.in.dst, d.in.a
	return true
}

// formMcrxr moves bits of XER to a field.
func formMcrxr(d *decoder, _ *row) bool {
	d.in.dst = rCR0 + d.bf()
	d.op.O1, d.op.O2, d.op.Also, d.op.S1, d.op.S2 = d.in.dst, rXER, 1<<rCA, rXER, rCA
	return true
}

// formMfcr reads all fields; the engine waits for those that compilers use most. With one bit in FXM,
// mfocrf reads that field alone.
func formMfcr(d *decoder, r *row) bool {
	d.in.dst = d.rt()
	d.op.O1, d.op.S1, d.op.S2, d.op.S3 = d.in.dst, rCR0, rCR7, rCR6
	if r.class == clMfocrf {
		d.in.aux = uint8(d.word >> 12)
		f := d.oneField()
		d.op.S1, d.op.S2, d.op.S3 = f, f, f
	}
	return true
}

// formMtcrf writes the fields of FXM.
func formMtcrf(d *decoder, _ *row) bool {
	d.in.a, d.in.aux = d.rt(), uint8(d.word>>12)
	d.op.S1 = d.in.a
	for i := range uint8(8) {
		if d.in.aux>>(7-i)&1 != 0 {
			d.op.Also |= 1 << d.op.O1
			d.op.O1 = rCR0 + i
		}
	}
	if d.in.aux&(d.in.aux-1) == 0 {
		d.op.Class = clMtocrf
	}
	return true
}

// oneField is the first field that FXM selects.
func (d *decoder) oneField() uint8 {
	for i := range uint8(8) {
		if d.in.aux>>(7-i)&1 != 0 {
			return rCR0 + i
		}
	}
	return rCR0
}

// formNone has no operands, formRT a destination, formRS a source, formRSRB and formRTRB another register.
func formNone(*decoder, *row) bool { return true }

func formRT(d *decoder, _ *row) bool {
	d.in.dst = d.rt()
	d.op.O1 = d.in.dst
	return true
}

func formRS(d *decoder, _ *row) bool {
	d.in.a, d.in.aux = d.rt(), d.ra()&1
	d.op.S1 = d.in.a
	return true
}

func formRSRB(d *decoder, _ *row) bool {
	d.in.a, d.in.b = d.rt(), d.rb()
	d.op.S1, d.op.S2 = d.in.a, d.in.b
	return true
}

func formRTRB(d *decoder, _ *row) bool {
	d.in.dst, d.in.b = d.rt(), d.rb()
	d.op.O1, d.op.S1 = d.in.dst, d.in.b
	return true
}

// formRB has RB alone, and L or LEV in aux.
func formRB(d *decoder, _ *row) bool {
	d.in.b, d.in.aux = d.rb(), d.rt()&1
	d.op.S1 = d.in.b
	return true
}

// formLevel has a field L or LEV: of sync in sh, of sc in aux.
func formLevel(d *decoder, _ *row) bool {
	d.in.sh, d.in.aux = d.rt()&3, uint8(d.word>>5&0x7f)
	if d.op.Class == clSync && d.in.sh == 1 {
		d.op.Class = clLwsync
	}
	return true
}

// formMtmsr has a class of its own where it changes EE and RI alone.
func formMtmsr(d *decoder, _ *row) bool {
	formRS(d, nil)
	if d.in.aux != 0 {
		d.op.Class = clMtmsrdEE
	}
	return true
}

// formConditional is a store that says in field 0 whether it was made.
func formConditional(d *decoder, r *row) bool {
	formStoreX(d, r)
	d.op.O1 = rCR0
	return true
}
