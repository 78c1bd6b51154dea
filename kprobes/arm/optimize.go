package arm

import (
	"fmt"

	"kprobesim/kprobes"
)

// frame are the bytes of the registers that a detour saves: struct pt_regs.
const frame = 72

// mostFrame is the largest frame that a detour makes. Kernels have it as an immediate of eight bits.
const mostFrame = 255

// region decides about one instruction, which is all that a branch replaces. What keeps a probe from being optimized
// is its use of the stack alone, as any instruction that can be probed can be emulated in the detour.
// An instruction that may fault is left out here, though kernels do not look: its fault is looked up by
// its own address, which is not that of the copy.
func region(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) {
	code, denied := s.Word(wordSize)
	switch {
	case denied != nil:
		return kprobes.Region{}, denied
	case s.EntryText.Contains(s.Addr):
		return s.Refuse(kprobes.RuleEntryText, "is exception entry code")
	case s.Exceptions != nil && s.Exceptions(s.Addr):
		return s.Refuse(kprobes.RuleExceptionTable, "has an exception table entry")
	}
	w := wordOf(code)
	switch stack := w.below(); {
	case classify(code, s.Addr).Kind == kprobes.ClassBreakpoint:
		return s.Refuse(kprobes.RuleForeign, "holds a breakpoint that is not a probe's")
	case decide(w, conditionsFrom).kind == refused:
		return s.Refuse(kprobes.RuleNotEmulated, fmt.Sprintf("(%08x) is no instruction that can be emulated", uint32(w)))
	case stack == unknown || stack > mostFrame-frame:
		return s.Refuse(kprobes.RuleNotEmulated, fmt.Sprintf("(%08x) stores further below the stack pointer than a detour keeps free", uint32(w)))
	}
	return kprobes.Region{Addr: s.Addr, Code: code}, nil
}

// reach is how far a branch leads forward and back from where the program counter reads, in bytes: its displacement has
// 24 bits and counts words (ARM ARM, A8.8.18).
const reach = 1 << 25

// jump encodes the branch to a detour, with the condition of the instruction that it replaces.
func jump(r kprobes.Region, to uint64) ([]byte, *kprobes.Refusal) {
	d := int64(to) - int64(r.Addr) - here
	if d < -reach || d >= reach || d%wordSize != 0 {
		return nil, kprobes.Refuse(kprobes.RuleOutOfRange, r.Addr,
			"the branch at %#x does not reach %#x: more than 32 MiB apart", r.Addr, to)
	}
	w := word(opB)<<24 | word(d>>2)&0xffffff
	displaced := word(always) // of a region that is no more: a mistake that mutants make
	if len(r.Code) >= wordSize {
		displaced = wordOf(r.Code)
	}
	return bytesOf(w.like(displaced)), nil
}
