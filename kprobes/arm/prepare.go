package arm

import (
	"slices"

	"kprobesim/kprobes"
)

// conditionsFrom is the year from which breakpoints keep conditions, blocks of registers are copied, and stores below
// the stack pointer are looked at.
const conditionsFrom = 2014

// keptFree are the bytes below the stack pointer that the entry of the exception leaves alone, so that what a copy
// stores there is not what the hit itself has on the stack.
const keptFree = 64

// returns is mov pc, lr: the end of a copy.
const returns = 0xe1a0f00e

// prepare makes the copy and says which function of the guest calls it, or does without.
func prepare(in kprobes.Insn) (kprobes.Copy, error) {
	w := wordOf(in.Code)
	how := decide(w, in.Year)
	if how.kind == refused {
		return kprobes.Copy{}, kprobes.EINVAL
	}
	stack := w.below()
	if in.Year >= conditionsFrom && (stack == unknown || stack > keptFree) {
		return kprobes.Copy{}, kprobes.EINVAL
	}
	out := kprobes.Copy{Members: []kprobes.Value{
		{Member: "opcode", Number: uint64(w)},
		{Member: "ainsn.insn"},
		{Member: "ainsn.insn_handler", Func: how.handler},
		{Member: "ainsn.stack_space", Number: uint64(uint32(int32(stack)))},
	}}
	if how.kind == emulated {
		out.Code = slices.Concat(bytesOf(how.copy), bytesOf(returns))
		out.Members[1].Number = in.Slot
	}
	return out, nil
}
