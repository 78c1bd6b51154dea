package ppc64

import "encoding/binary"

// word is an instruction (book I, section 1.6, instruction formats).
type word uint32

func wordOf(code []byte) word { return word(binary.BigEndian.Uint32(code)) }

// opcode is the primary opcode, bits 0 to 5.
func (w word) opcode() uint32 { return uint32(w) >> 26 }

// xo is the extended opcode of the X, XL and XFX forms, bits 21 to 30.
func (w word) xo() uint32 { return uint32(w) >> 1 & 0x3ff }

// spr is the number of a special register, whose halves are swapped in the instruction.
func (w word) spr() uint32 { return uint32(w)>>16&31 | uint32(w)>>11&31<<5 }

// immediate is the field SI or UI of the D form, bits 16 to 31.
const immediate = 0xffff

// Primary opcodes.
const (
	opADDIS    = 15
	opBranchIf = 16 // bc
	opBranch   = 18 // b
	opXL       = 19 // condition register, branches to registers, returns from interrupts
	opORI      = 24
	opORIS     = 25
	opMD       = 30 // rotates of doublewords
	opX        = 31
)

// Extended opcodes behind opXL.
const (
	xoBCLR  = 16
	xoRFID  = 18
	xoRFI   = 50
	xoISYNC = 150
	xoBCCTR = 528
)

// Extended opcodes behind opX.
const (
	xoMFMSR  = 83
	xoMTMSR  = 146
	xoMTMSRD = 178
	xoMFSPR  = 339
	xoMTSPR  = 467
)

// branch is an unconditional branch with a displacement: b, ba, bl or bla. relative says that the target counts
// from the instruction.
func (w word) branch() (displacement uint64, relative, ok bool) {
	li := int64(int32(w<<6)) >> 6 &^ 3
	return uint64(li), w&2 == 0, w.opcode() == opBranch
}

// target is where an unconditional branch at an address leads.
func (w word) target(pc uint64) (to uint64, ok bool) {
	d, relative, ok := w.branch()
	if relative {
		d += pc
	}
	return d, ok
}

// conditional recognizes the branches whose way is known at a hit alone: by a condition, or to a register.
// The always forms of them count, as kernels look at the opcodes.
func (w word) conditional() bool {
	return w.opcode() == opBranchIf || w.opcode() == opXL && (w.xo() == xoBCLR || w.xo() == xoBCCTR)
}

// unsteppable recognizes what a step of a copy does wrong: branches lead elsewhere from there, and mfmsr reads the
// state of the step.
func (w word) unsteppable() bool {
	return w.opcode() == opBranch || w.conditional() || w.opcode() == opX && w.xo() == xoMFMSR
}

// changesState recognizes what replaces the machine state register as a whole: mtmsr, mtmsrd, rfi and rfid. A
// step of one would end stepping.
func (w word) changesState() bool {
	switch w.opcode() {
	case opXL:
		return w.xo() == xoRFID || w.xo() == xoRFI
	case opX:
		return w.xo() == xoMTMSR || w.xo() == xoMTMSRD
	}
	return false
}
