package arm

import "kprobesim/kprobes"

// classify looks at one word. Every aligned word can be read.
func classify(code []byte, at uint64) kprobes.Class {
	if len(code) < wordSize || at%wordSize != 0 {
		return kprobes.Class{}
	}
	w := wordOf(code)
	c := kprobes.Class{Len: wordSize}
	if !w.conditional() {
		return c
	}
	switch {
	case w&^condition == undefined&^always:
		c.Kind = kprobes.ClassBreakpoint
	case w&^condition == yield:
		c.Kind = kprobes.ClassSpin
	case w.field(24, 4) == opB:
		c.Kind = kprobes.ClassJump
		c.Target = w.target(at)
	}
	return c
}

const (
	opB   = 0xa        // bits 24 to 27 of b
	yield = 0x0320f001 // the hint of a thread that waits
	here  = 8          // bytes by which the program counter reads ahead of the instruction
)

// target is where a branch at an address leads.
func (w word) target(at uint64) uint64 {
	return uint64(uint32(at) + here + uint32(int32(w<<8)>>6))
}

// atomic holds for stores of aligned words. The manual promises for a few instructions alone, breakpoints and branches
// among them, that a processor which has not synchronized executes the old or the new one (ARM ARM, A3.5.4). The kernel
// rests on it for any replaced instruction, as processors fetch words whole.
func atomic(_, addr uint64, old, changed []byte) bool {
	return addr%wordSize == 0 && len(old) == wordSize && len(changed) == wordSize
}
