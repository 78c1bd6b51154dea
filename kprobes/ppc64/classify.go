package ppc64

import "kprobesim/kprobes"

// lowPriority is or 1,1,1, by which a thread that waits leaves the units to the other thread of its core. The
// kernel's cpu_relax has it.
const lowPriority = 0x7c210b78

// classify looks at one word. Every aligned word can be read.
func classify(code []byte, pc uint64) kprobes.Class {
	if len(code) < wordSize || pc%wordSize != 0 {
		return kprobes.Class{}
	}
	w := wordOf(code)
	c := kprobes.Class{Len: wordSize}
	switch {
	case w == trap:
		c.Kind = kprobes.ClassBreakpoint
	case w == lowPriority:
		c.Kind = kprobes.ClassSpin
	case w.opcode() == opBranch && w&3 == 0:
		c.Kind = kprobes.ClassJump
		c.Target, _ = w.target(pc)
	}
	return c
}

// atomic holds for stores of aligned words. An instruction is fetched whole, so a processor that has not
// synchronized executes the old or the new one. The manual promises it where both are of the patch class, which
// are I-form branches and the preferred no-op (book II, section 1.8.1). The kernel rests on it for traps and for
// any replaced instruction, as processors do it for all of them.
func atomic(_, addr uint64, old, changed []byte) bool {
	return addr%wordSize == 0 && len(old) == wordSize && len(changed) == wordSize
}
