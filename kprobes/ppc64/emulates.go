package ppc64

import "slices"

// emulates says what the guest's emulator of a year does (workloads/kernel/arch/ppc64/emulate*.c). Operands may still
// keep it from doing so: a divisor of zero, an address where no memory is, a stack frame that lies in the exception's.
func emulates(year int, code []byte) bool {
	w := wordOf(code)
	switch {
	case year < 2010:
		return false
	case w.opcode() == opBranch || w.conditional() || w.opcode() == opX && w.xo() == xoMFMSR:
		return true
	case year < 2011:
		return false
	}
	return w.emulated() || w.hint() || w.divides() || w.accesses()
}

// hint recognizes dcbt, dcbtst and eieio.
func (w word) hint() bool {
	return w.opcode() == opX && slices.Contains([]uint32{246, 278, 854}, w.xo())
}

// divides recognizes divdu, divwu, divd, divw.
func (w word) divides() bool {
	return w.opcode() == opX && slices.Contains([]uint32{457, 459, 489, 491}, w.xo())
}

// Fields of an access to memory.
func (w word) rt() uint32 { return uint32(w) >> 21 & 31 }
func (w word) ra() uint32 { return uint32(w) >> 16 & 31 }

// accesses recognizes loads and stores of integers, but not with a reservation, and not of strings.
func (w word) accesses() bool {
	const lmw, stmw, doublewords, storeDoublewords = 46, 47, 58, 62
	low := uint32(w) & 3
	switch op := w.opcode(); {
	case op == opX:
		return w.indexed()
	case op == lmw:
		return w.ra() < w.rt()
	case op == stmw:
		return true
	case op >= 32 && op < lmw: // odd ones write the address to RA
		const store = 4
		return op&1 == 0 || w.updates(op&store != 0)
	case op == doublewords:
		return low == 0 || low == 2 || low == 1 && w.updates(false)
	case op == storeDoublewords:
		return low == 0 || low == 1 && w.updates(true)
	}
	return false
}

// indexed are the same with an index in the place of the displacement.
func (w word) indexed() bool {
	loads := []uint32{21, 23, 87, 279, 341, 343} // ldx, lwzx, lbzx, lhzx, lwax, lhax
	stores := []uint32{149, 151, 215, 407}       // stdx, stwx, stbx, sthx
	reversed := []uint32{534, 662, 790, 918}     // lwbrx, stwbrx, lhbrx, sthbrx
	const update = 32                            // ldux and the like
	switch xo := w.xo(); {
	case slices.Contains(loads, xo) || slices.Contains(stores, xo) || slices.Contains(reversed, xo):
		return true
	case xo < update:
		return false
	case slices.Contains(stores, xo-update):
		return w.updates(true)
	default:
		return slices.Contains(loads, xo-update) && w.updates(false)
	}
}

// updates holds where the register that the address is written to is one, and not what is loaded.
func (w word) updates(store bool) bool {
	return w.ra() != 0 && (store || w.ra() != w.rt()) && !w.frame()
}

// frame recognizes the stores that make a stack frame beyond what the ABI leaves below the stack pointer.
func (w word) frame() bool {
	const stack, redZone, stackSize = 1, 288, 16384
	d := int16(w)
	switch w.opcode() {
	case opX:
		return false // the index says
	case 58, 62:
		d &^= 3
	}
	return w.ra() == stack && d < -redZone && int(d) > -stackSize
}
