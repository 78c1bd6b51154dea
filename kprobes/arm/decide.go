package arm

import "strings"

// kind says what becomes of an instruction at a hit.
type kind uint8

const (
	refused   kind = iota
	simulated      // by a function of the guest alone
	emulated       // by a copy that a function of the guest calls
)

// way says what a hit does in the place of an instruction.
type way struct {
	kind    kind
	handler string
	copy    word // if it is emulated
}

// decide finds what kernels of a year do with an instruction.
func decide(w word, year int) way {
	r := find(w)
	if r == nil || r.handler == "" || r.holds != nil && !r.holds(w) || !r.registers(w) {
		return way{}
	}
	switch {
	case r.handler == status && w.d() == pc:
		return way{}
	case r.handler == block:
		return blockWay(w, year)
	case r.regs == "":
		return way{kind: simulated, handler: r.handler}
	case strings.Contains(r.regs, "D") && w.d() == pc && r.toPC != r.handler:
		return way{kind: simulated, handler: r.toPC}
	}
	return way{emulated, r.handler, executed(r.renumber(w), year)}
}

// fields are the places of registers in an instruction, and what becomes of them in a copy.
var fields = []struct {
	name   rune
	at     uint
	number word
}{{'d', 12, 0}, {'n', 16, 1}, {'m', 0, 2}, {'s', 8, 3}}

// pairAt is the first of two registers in a copy that loads or stores two.
const pairAt = 4

// registers reports whether the program counter is only where it may be.
func (r *row) registers(w word) bool {
	for _, f := range fields {
		if strings.ContainsRune(r.regs, f.name) && w.field(f.at, 4) == pc {
			return false
		}
	}
	return !strings.Contains(r.regs, "D") || w.d() != pc || r.toPC != ""
}

// renumber names the registers in which a function of the guest passes operands.
func (r *row) renumber(w word) word {
	for _, f := range fields {
		if !strings.ContainsRune(strings.ToLower(r.regs), f.name) {
			continue
		}
		if f.name == 'd' && (r.handler == loadPair || r.handler == storePair) {
			f.number = pairAt
		}
		w = w&^(0xf<<f.at) | f.number<<f.at
	}
	return w
}

// executed is the copy as it is executed. In 2010 it has the condition of the instruction. Later the breakpoint
// has it, and the copy is always executed.
func executed(w word, year int) word {
	if year < conditionsFrom {
		return w
	}
	return w&^condition | always
}

// blockWay decides about a load or store of several registers. Later kernels call a copy where all registers fit
// into those that may be passed: r0 to r12, as they are or moved down by a few.
func blockWay(w word, year int) way {
	if year < conditionsFrom {
		return way{kind: simulated, handler: block}
	}
	used := w.list() | 1<<w.n()
	for _, k := range []struct {
		handler string
		down    word
		pc      bool
	}{{blockLow, 0, false}, {blockHigh, 2, false}, {blockPC, 3, true}} {
		fits := used &^ (0x1fff << k.down)
		if fits == 0 && (!k.pc || w.load() && w.list()>>pc != 0) {
			moved := w&^0xfffff | (word(w.n())-k.down)<<16 | word(w.list())>>k.down
			return way{emulated, k.handler, executed(w&0xfff00000|moved&0xfffff, year)}
		}
	}
	return way{kind: simulated, handler: block}
}
