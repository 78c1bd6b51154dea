package arm

import "kprobesim/cpus/engine"

// Register numbers in Core.R: r0 to r14 of the present mode, then what else has a ready time or a place
// for one instruction.
const (
	rSP = 13
	rLR = 14

	rZero    = 16 + iota - 2 // always zero: an absent operand
	rSink                    // written by instructions without a result
	rFlags                   // N, Z, C and V: a ready time, and no value
	rGE                      // the GE flags, likewise
	rOperand                 // the shifter's result, while one instruction executes
	rHere                    // the program counter as an operand, while one instruction executes
	rTarget                  // what an instruction writes to the program counter

	pcNumber = 15 // of the program counter in instructions

	rPC = engine.PC
)

// flags are N, Z, C and V, kept so that most instructions only store their result: N is the top bit of nf,
// Z means that zf is zero, cf is 0 or 1, V is the top bit of vf.
type flags struct {
	nf, zf, cf, vf uint32
}

func (f *flags) setNZ(r uint32) { f.nf, f.zf = r, r }

// sum adds and sets all flags. A subtraction adds the inverse and one (ARM ARM, AddWithCarry).
func (f *flags) sum(a, b, carry uint32) uint32 {
	s := uint64(a) + uint64(b) + uint64(carry)
	r := uint32(s)
	f.nf, f.zf, f.cf, f.vf = r, r, uint32(s>>32), (a^r)&(b^r)
	return r
}

// Conditions (ARM ARM, A8.3).
const (
	condEQ = iota
	condNE
	condCS
	condCC
	condMI
	condPL
	condVS
	condVC
	condHI
	condLS
	condGE
	condLT
	condGT
	condLE
	condAL
	condNone // the space of instructions without a condition
)

// holds evaluates a condition: pairs differ in the lowest bit.
func (f *flags) holds(cond uint8) bool {
	v := true
	switch cond &^ 1 {
	case condEQ:
		v = f.zf == 0
	case condCS:
		v = f.cf != 0
	case condMI:
		v = int32(f.nf) < 0
	case condVS:
		v = int32(f.vf) < 0
	case condHI:
		v = f.cf != 0 && f.zf != 0
	case condGE:
		v = int32(f.nf^f.vf) >= 0
	case condGT:
		v = f.zf != 0 && int32(f.nf^f.vf) >= 0
	default:
		return true
	}
	return v == (cond&1 == 0)
}

// nzcv are the flags in the places that they have in a status register.
func (f *flags) nzcv() uint32 {
	v := f.nf&psrN | f.cf*psrC | f.vf>>31*psrV
	if f.zf == 0 {
		v |= psrZ
	}
	return v
}

// setNZCV takes the flags from a status register, in any combination.
func (f *flags) setNZCV(v uint32) {
	f.nf, f.zf, f.cf, f.vf = v&psrN, ^v&psrZ, v/psrC&1, v<<3&psrN
}
