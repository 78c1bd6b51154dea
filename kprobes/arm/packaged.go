package arm

import (
	"fmt"

	"kprobesim/kprobes"
)

// Packaged has the rules of a distribution's kernel of 6.1 for code that it runs, as far as the rules look at words. Kernels
// look at nothing but the word of a probe: any word of text may hold one, also a constant that lies behind a function.
type Packaged struct {
	// Detours is the lowest address of what kernels keep for modules. Detours lie there in the order of their making.
	Detours uint64
}

// Boundary reports whether an address is that of a word.
func (Packaged) Boundary(_ kprobes.Text, addr uint64) bool { return addr%wordSize == 0 }

// Starts lists the words of a function.
func (Packaged) Starts(fn kprobes.Text) (out []uint64) {
	for at := uint64(0); at+wordSize <= uint64(len(fn.Code)); at += wordSize {
		out = append(out, fn.Start+at)
	}
	return out
}

// Run reports how a hit runs the word at the start of code: emulated, or not at all.
func (Packaged) Run(code []byte, addr uint64) (kprobes.Mode, error) {
	if len(code) < wordSize {
		return 0, kprobes.EINVAL
	}
	w := wordOf(code)
	if w.field(25, 3) == 0 && w.bit(7) && w.bit(4) && w.field(5, 2) != 0 && !w.before() && w.write() {
		return kprobes.Emulated, kprobes.EINVAL // halfwords, signed bytes and pairs as in user mode (ARM ARM, A5.2.9)
	}
	_, err := prepare(kprobes.Insn{Code: bytesOf(w &^ w.ignored()), Addr: addr, Year: conditionsFrom})
	return kprobes.Emulated, err
}

// ignored are the bits of a word that should be zero and that kernels do not look at. Compilers have them zero, and constants
// between functions have not.
func (w word) ignored() (bits word) {
	extra := w.field(25, 3) == 0 && w.bit(7) && w.bit(4)
	op := w.field(21, 4)
	if extra && w.field(5, 2) != 0 && !w.bit(22) { // ARM ARM, A5.2.8: an index in a register
		bits = 0xf << 8
	}
	switch {
	case extra && w.field(5, 2) > 1 && !w.load(): // the first register of a pair is even
		bits |= 1 << 12
	case extra || w.field(26, 2) != 0 || !w.conditional():
	case op>>2 == 2 && w.bit(20): // A5.2.1: a comparison has no result
		bits = 0xf << 12
	case op == 13 || op == 15: // a move has no first operand
		bits = 0xf << 16
	}
	return bits
}

// Leaves reports whether the word at the start of code may have the program go on elsewhere and not come back. A call does.
func (Packaged) Leaves(code []byte) bool {
	w := wordOf(code)
	switch decide(w, conditionsFrom).handler {
	case branch:
		return w.field(24, 4) == opB
	case branchRegister:
		return w.field(4, 4) == 1 // bx, where blx has 3 (ARM ARM, A8.8.27 and A8.8.26)
	case aluPC, loadPC:
		return true
	case block, blockLow, blockHigh, blockPC:
		return w.load() && w.list()>>pc != 0
	}
	return false
}

// Region is the word of a probe, which a branch replaces. Kernels look whether it reaches the detour, and how far the word stores
// below the stack pointer, which a word of a probe never does too far (mostFrame is more than keptFree).
func (p Packaged) Region(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) {
	code, denied := s.Word(wordSize)
	if denied != nil {
		return kprobes.Region{}, denied
	}
	r := kprobes.Region{Addr: s.Addr, Code: code}
	if _, far := jump(r, p.Detours); far != nil {
		return s.Refuse(kprobes.RuleOutOfRange, fmt.Sprintf("is more than %d MiB from where detours are", reach>>20))
	}
	return r, nil
}
