package arm

import "kprobesim/cpus/engine"

// systemRows are the system instructions among those with a condition: ARM ARM, A5.2.11, A5.2.12, A5.6, and the
// permanently undefined instruction of A5.4.
var systemRows = []*row{
	{name: "nop", bits: "00110010 0000 1111 0000 hhhhhhhh", form: formNone, exec: nop, class: clNop},
	{name: "dbg", bits: "00110010 0000 1111 0000 1111 oooo", form: formBarrier, exec: mark, class: clNop, flags: engine.Ends},
	{name: "wfe", bits: "00110010 0000 1111 0000 00000010", form: formNone, exec: nop, class: clNop},
	{name: "wfi", bits: "00110010 0000 1111 0000 00000011", form: formNone, exec: waitForInterrupt, class: clWfi, flags: engine.Ends},
	{name: "mrs", bits: "00010000 1111 dddd 0000 0000 0000", form: formMrs, exec: mrs, class: clMrs},
	{name: "mrs spsr", bits: "00010100 1111 dddd 0000 0000 0000", form: formMrs, exec: mrsSPSR, class: clMrs},
	{name: "msr", bits: "00010010 kkkk 1111 0000 0000 nnnn", form: formMsr, exec: msr, class: clMsr, flags: engine.Ends},
	{name: "msr spsr", bits: "00010110 kkkk 1111 0000 0000 nnnn", form: formMsr, exec: msrSPSR, class: clMsr},
	{name: "msr constant", bits: "00110010 kkkk 1111 rrrr iiiiiiii", form: formMsrConstant, exec: msr, class: clMsr, flags: engine.Ends},
	{name: "msr spsr constant", bits: "00110110 kkkk 1111 rrrr iiiiiiii", form: formMsrConstant, exec: msrSPSR, class: clMsr},
	{name: "bkpt", bits: "00010010 iiii iiii iiii 0111 iiii", form: formAlways, exec: breakpoint, class: clUndefined, flags: engine.Ends},
	{name: "svc", bits: "1111 iiiiiiiiiiiiiiiiiiiiiiii", form: formNone, exec: supervisorCall, class: clSupervisorCall, flags: engine.Ends},
	{name: "udf", bits: "01111111 iiii iiii iiii 1111 iiii", form: formNone, exec: permanent, class: clPermanent, flags: engine.Ends},
	{name: "mcr", bits: "1110 ooo0 nnnn tttt 1111 ooo1 mmmm", form: formMcr},
	{name: "mrc", bits: "1110 ooo1 nnnn tttt 1111 ooo1 mmmm", form: formMrc},
	{name: "mcr debug", bits: "1110 ooo0 nnnn tttt 1110 ooo1 mmmm", form: formMcr},
	{name: "mrc debug", bits: "1110 ooo1 nnnn tttt 1110 ooo1 mmmm", form: formMrc},
	{name: "mcrr", bits: "1100 0100 tttt tttt 1111 oooo mmmm", form: formMcrr},
	{name: "mrrc", bits: "1100 0101 tttt tttt 1111 oooo mmmm", form: formMrrc},
}

// unconditionalRows are ARM ARM, A5.7. Hints do nothing.
var unconditionalRows = []*row{
	{name: "cps", bits: "1111 0001 0000 iiw0 0000 000a if0m mmmm", form: formCps, exec: changeState, class: clCps, flags: engine.Ends},
	{name: "setend le", bits: "1111 0001 0000 0001 0000 0000 0000 0000", form: formNone, exec: nop, class: clNop},
	{name: "srs", bits: "1111 100p u1w0 1101 0000 0101 000m mmmm", form: formSrs, exec: storeReturnState, class: clSrs, flags: engine.Stores},
	{name: "rfe", bits: "1111 100p u0w1 nnnn 0000 1010 0000 0000", form: formRfe, exec: returnFromException, class: clRfe, flags: engine.Loads | engine.Ends},
	{name: "blx constant", bits: "1111 101h iiiiiiiiiiiiiiiiiiiiiiii", form: formBLXConstant, exec: blxImmediate, class: clBranch, flags: endsBranch},
	{name: "clrex", bits: "1111 0101 0111 1111 1111 0000 0001 1111", form: formNone, exec: clrex, class: clNop},
	{name: "dsb", bits: "1111 0101 0111 1111 1111 0000 0100 oooo", form: formBarrier, exec: dsb, class: clDsb},
	{name: "dmb", bits: "1111 0101 0111 1111 1111 0000 0101 oooo", form: formBarrier, exec: dmb, class: clDmb},
	{name: "isb", bits: "1111 0101 0111 1111 1111 0000 0110 oooo", form: formNone, exec: isb, class: clIsb, flags: engine.Ends},
	{name: "pld", bits: "1111 0101 ur01 nnnn 1111 iiiiiiiiiiii", form: formTouch, exec: nop, class: clTouch},
	{name: "pld index", bits: "1111 0111 ur01 nnnn 1111 iiiii kk0 mmmm", form: formTouchIndex, exec: nop, class: clTouch},
	{name: "pli", bits: "1111 0100 u101 nnnn 1111 iiiiiiiiiiii", form: formTouch, exec: nop, class: clTouch},
	{name: "pli index", bits: "1111 0110 u101 nnnn 1111 iiiii kk0 mmmm", form: formTouchIndex, exec: nop, class: clTouch},
}

// formAlways has no condition.
func formAlways(d *decoder, _ *row) bool { return d.cond() == condAL }

// formTouch and formTouchIndex have an address and no data.
func formTouch(d *decoder, _ *row) bool {
	if rn := d.r16(); rn != pcNumber {
		d.op.Base = rn
	}
	return true
}

func formTouchIndex(d *decoder, r *row) bool {
	d.op.Index = d.r0()
	return formTouch(d, r) && general(d.r0())
}

func formMrs(d *decoder, _ *row) bool {
	d.in.dst = d.r12()
	d.op.O1, d.op.S1, d.op.S2 = d.in.dst, rFlags, rGE
	return general(d.in.dst)
}

// formMsr has a register, formMsrConstant a constant. aux has the bytes that are written. One that writes
// flags alone does not end a block.
func formMsr(d *decoder, r *row) bool {
	d.in.b = d.r0()
	d.op.S1 = d.in.b
	return d.stateMask(r) && general(d.in.b)
}

func formMsrConstant(d *decoder, r *row) bool {
	d.in.imm, _ = d.expanded()
	return d.stateMask(r)
}

const (
	fieldControl = 1 << 0
	fieldStatus  = 1 << 2
	fieldFlags   = 1 << 3
)

func (d *decoder) stateMask(*row) bool {
	d.in.aux = d.r16()
	d.op.O1, d.op.O2 = rFlags, rGE
	if d.in.aux&^(fieldStatus|fieldFlags) == 0 && !d.bit(22) {
		d.op.Class, d.op.Flags = clMsrFlags, 0
	}
	return d.in.aux != 0
}

// formCps has the mode in sh, the masks in imm, and what is to be done in aux.
func formCps(d *decoder, _ *row) bool {
	d.in.aux, d.in.sh = d.field(17, 3), d.field(0, 5)
	d.in.imm = uint32(d.field(6, 3)) << 6 // A, I and F stand where CPSR has them
	_, mode := bankOf(uint32(d.in.sh))
	switch changes := d.in.aux >> 1; {
	case changes == 1, changes != 0 && d.in.imm == 0, changes == 0 && d.in.imm != 0, d.in.aux == 0:
		return false
	case d.in.aux&cpsMode != 0:
		return mode
	}
	return d.in.sh == 0
}

// formSrs has a mode, formRfe a base; both have an order of addresses as other transfers of two registers.
func formSrs(d *decoder, _ *row) bool {
	d.in.aux = d.field(0, 5)
	_, ok := bankOf(uint32(d.in.aux))
	d.op.Base = rSP
	if d.twoWordsAt(); d.bit(21) {
		d.op.O1 = rSP // if the mode is the present one
	}
	return ok
}

func formRfe(d *decoder, _ *row) bool {
	d.in.a = d.r16()
	d.op.Base = d.in.a
	d.twoWordsAt()
	if d.bit(21) {
		d.in.aux = multiWriteback
		d.op.O1 = d.in.a
	}
	return general(d.in.a)
}

// twoWordsAt says where two words lie beside a base, and how it moves.
func (d *decoder) twoWordsAt() {
	d.in.sh, d.in.dst = multiBias, multiBias+2
	if !d.bit(23) {
		d.in.sh, d.in.dst = multiBias-2, multiBias-2
	}
	if d.bit(24) == d.bit(23) {
		d.in.sh++
	}
	if !d.bit(21) {
		d.in.dst = multiBias
	}
}

func formBLXConstant(d *decoder, _ *row) bool {
	d.in.imm, d.in.sh = d.distance(), d.field(24, 1)<<1
	d.op.O1 = rLR
	return true
}
