package arm

import "kprobesim/kprobes"

const (
	wordSize  = 4
	slotSize  = 2 * wordSize // the copy and its return
	line      = 64           // bytes of a line of the caches of Cortex-A7 and Cortex-A15
	undefined = 0xe7f001f8   // permanently undefined (ARM ARM, A5.4)
)

// Arch returns the rules.
//
// A hit calls the copy in the slot, or a function that does what the instruction does. Which function that is stands
// in a member of struct kprobe. Caches of instructions need not be coherent (ARM ARM, A3.9.3), so new code is flushed,
// and a breakpoint is taken away while the machine stands still.
func Arch() *kprobes.Arch {
	return &kprobes.Arch{
		Name: "arm", Breakpoint: bytesOf(undefined), Align: wordSize, SlotSize: slotSize, Line: line,
		Conditional: func(displaced []byte) []byte { return bytesOf(word(undefined).like(wordOf(displaced))) },
		Flush:       "flush_icache_range", StopsToRestore: true,
		First: kprobes.Emulated, Then: kprobes.Emulated,
		Members:     []string{"opcode", "ainsn.insn", "ainsn.insn_handler", "ainsn.stack_space"},
		Eras:        eras(),
		CodeMutants: codeMutants(),
		Optimizer:   optimizer(),
		Prepare:     prepare,
		Classify:    classify,
		Reserves:    reserves,
		Atomic:      atomic,
		Fetching: "ARM ARM, A3.5.4: but for a few instructions, one that another processor modifies is executed only behind a " +
			"synchronization of context",
	}
}

// eras lists what kernels have. No kernel looks whether an aligned word is an instruction: what cannot be emulated is
// refused by its encoding.
func eras() []kprobes.Era {
	return []kprobes.Era{
		{Year: 2010},
		{Year: 2014, Optimize: true, Conditional: true},
	}
}

// optimizer has the rules of jump optimization. The branch replaces one instruction, and the machine stands still for
// it.
func optimizer() *kprobes.Optimizer {
	return &kprobes.Optimizer{
		JumpSize: wordSize, MaxRegion: wordSize,
		Patchings: []string{kprobes.PatchStop},
		Marks:     []string{"room", "sp", "value", "call"},
		Calls:     []string{"detour_called"},
		Region:    region, Detour: detour, Jump: jump,
	}
}
