package x86

import (
	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/engine"
)

// Operations that processors fuse with a conditional branch behind them. Which conditions they fuse with differs: Intel's
// optimization manual has it in 2.5.2.1, AMD's guides 56665 and 57647 in 2.9.
var fusible = map[x86asm.Op]uint8{
	x86asm.CMP: 1, x86asm.TEST: 2, x86asm.AND: 3, x86asm.OR: 4, x86asm.XOR: 5, x86asm.ADD: 6, x86asm.SUB: 7, x86asm.INC: 8, x86asm.DEC: 9,
}

// fusibleNames has the names of fusible operations in machine descriptions, by number.
var fusibleNames = [...]string{"", "cmp", "test", "and", "or", "xor", "add", "sub", "inc", "dec"}

// conditionNames has the names of conditions and their opposites in machine descriptions, by half the number in the opcode.
var conditionNames = [...]string{"o", "b", "e", "be", "s", "p", "l", "le"}

// pair returns engine.Op.Pair of an instruction.
func (d *decoder) pair() uint8 {
	if d.op.Class == clJcc {
		return engine.PairBranch | d.in.aux>>1
	}
	n := fusible[d.x.Op]
	if n == 0 || d.op.Flags&engine.Stores != 0 {
		return 0
	}
	if d.loads() && d.hasImm() {
		n |= engine.PairImmediate
	}
	if d.in.base == rRIP {
		n |= engine.PairRelative
	}
	return n
}

// indexed reports an access with an index.
func (d *decoder) indexed() bool {
	return d.op.Flags&(engine.Loads|engine.Stores) != 0 && d.in.index != rZero
}
