package ppc64

import (
	"fmt"
	"slices"

	"kprobesim/kprobes"
)

// region decides about one instruction, which is all that a jump replaces. Other code of the function does not
// matter, as there is no place inside of an instruction to jump to.
func region(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) {
	code, denied := s.Word(wordSize)
	switch {
	case denied != nil:
		return kprobes.Region{}, denied
	case s.Module:
		return s.Refuse(kprobes.RuleModuleText, "is text of a module")
	case s.EntryText.Contains(s.Addr):
		return s.Refuse(kprobes.RuleEntryText, "is exception entry code")
	}
	switch w := wordOf(code); {
	case w == trap:
		return s.Refuse(kprobes.RuleForeign, "holds a breakpoint that is not a probe's")
	case w.conditional():
		return s.Refuse(kprobes.RuleConditional, fmt.Sprintf("(%08x) leads where registers say", uint32(w)))
	case !w.emulated():
		return s.Refuse(kprobes.RuleNotEmulated, fmt.Sprintf("(%08x) is no instruction that a detour buffer can have emulated", uint32(w)))
	}
	return kprobes.Region{Addr: s.Addr, Code: code}, nil
}

// Special registers that the emulator reads and writes.
const (
	sprXER = 1
	sprLR  = 8
	sprCTR = 9
)

// emulated recognizes what can be done on saved registers alone, whatever these hold: no instruction that
// reads or writes memory, may trap, or changes the machine's state.
func (w word) emulated() bool {
	switch w.opcode() {
	case opMD:
		return uint32(w)>>1&0xf <= 9 // MD form 0 to 7, MDS form 8 and 9
	case opXL:
		return slices.Contains(computeXL(), w.xo())
	case opX:
		if xo := w.xo(); xo == xoMFSPR || xo == xoMTSPR {
			return w.spr() == sprXER || w.spr() == sprLR || w.spr() == sprCTR
		}
		return slices.Contains(computeX(), w.xo())
	}
	return slices.Contains(compute(), w.opcode())
}

// compute lists primary opcodes of instructions that work on registers alone.
func compute() []uint32 {
	return []uint32{
		7, 8, // mulli, subfic
		10, 11, // cmpli, cmpi
		12, 13, 14, opADDIS, // addic, addic., addi, addis
		opBranch,
		20, 21, 23, // rlwimi, rlwinm, rlwnm
		opORI, opORIS, 26, 27, 28, 29, // ori, oris, xori, xoris, andi., andis.
	}
}

// computeXL lists extended opcodes behind opXL.
func computeXL() []uint32 {
	return []uint32{
		0,                                     // mcrf
		33, 129, 193, 225, 257, 289, 417, 449, // crnor, crandc, crxor, crnand, crand, creqv, crorc, cror
		xoISYNC,
	}
}

// computeX lists extended opcodes behind opX. Forms that record overflow are not among them. Neither are
// divisions: there are operands without a quotient, for which the emulator does nothing.
func computeX() []uint32 {
	return []uint32{
		0, 32, // cmp, cmpl
		8, 10, 40, 104, 136, 138, 200, 202, 232, 234, 266, // subfc, addc, subf, neg, subfe, adde, subfze, addze, subfme, addme, add
		9, 11, 73, 75, 233, 235, // mulhdu, mulhwu, mulhd, mulhw, mulld, mullw
		19, 144, // mfcr, mtcrf
		26, 58, 922, 954, 986, // cntlzw, cntlzd, extsh, extsb, extsw
		28, 60, 124, 284, 316, 412, 444, 476, // and, andc, nor, eqv, xor, orc, or, nand
		24, 27, 536, 539, 792, 794, 824, 826, 827, // slw, sld, srw, srd, sraw, srad, srawi, sradi
		598, // sync
	}
}
