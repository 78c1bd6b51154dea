package x86

import (
	"slices"

	"kprobesim/kprobes"
)

// codeMutants are mistakes in the guest's code. The first two are none where each store is seen at once.
func codeMutants() []kprobes.CodeMutant {
	return []kprobes.CodeMutant{
		// A CPU may halt without having seen who waits for it.
		{Name: "idle-unfenced", Function: "cpu_idle", Insn: `^mfence|^lock `, Change: nops},
		// Of two answers to a call, one may be lost.
		{Name: "answer-unlocked", Function: "smp_answer_call", Insn: `^lock dec`, Change: unlocked},
		{Name: "miss-uncounted", Function: "count_missed", Insn: `^add[lq] \$0x1,`, Change: nops},
		// Nobody knows that a handler runs.
		{Name: "detour-unnamed", Function: "detour_called", Insn: `^mov %rdi,0x\w+\(%rbx\)$`, Change: nops},
	}
}

// nops leave an instruction out.
func nops(code []byte) []byte { return slices.Repeat([]byte{0x90}, len(code)) }

// unlocked takes the prefix from an instruction.
func unlocked(code []byte) []byte { return append([]byte{0x90}, code[1:]...) }
