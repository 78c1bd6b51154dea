package arm

import (
	"encoding/binary"

	"kprobesim/kprobes"
)

// nop is a hint.
const nop = 0xe320f000

// codeMutants are mistakes in the guest's code. They are none where each store is seen at once, and loads are in order.
func codeMutants() []kprobes.CodeMutant {
	left := func([]byte) []byte { return binary.LittleEndian.AppendUint32(nil, nop) }
	return []kprobes.CodeMutant{
		{Name: "idle-unfenced", Function: "cpu_idle", Insn: `^dmb`, Change: left},
		{Name: "answer-unlocked", Function: "smp_answer_call", Insn: `^ldrex|^strex|^bne`, Change: unreserved},
		{Name: "call-unordered", Function: "smp_send_call_function", Insn: `^dsb`, Change: left},
		{Name: "answer-unordered", Function: "answer_cpu", Insn: `^dmb`, Change: left},
		{Name: "lock-unordered", Function: "guard_quietly", Insn: `^dmb`, Change: left},
		{Name: "unlock-unordered", Function: "unguard_quietly", Insn: `^dmb`, Change: left},
		{Name: "state-unordered", Function: "set_state", Insn: `^dmb`, Change: left},
		{Name: "state-unobserved", Function: "stop_cpu", Insn: `^dmb`, Change: left},
		{Name: "switch-unordered", Function: "context_switch", Insn: `^dmb`, Change: left},
	}
}

// unreserved makes a plain load and store of ldrex and strex, and does not look whether that was done.
func unreserved(code []byte) []byte {
	const (
		kind  = 0x0ff00000
		ldrex = 0x01900000
		strex = 0x01800000
		ldr   = 0xe5900000
		str   = 0xe5800000
	)
	insn := binary.LittleEndian.Uint32(code)
	base := insn & 0xf0000
	switch insn & kind {
	case ldrex:
		insn = ldr | base | insn&0xf000
	case strex:
		insn = str | base | insn&0xf<<12
	default:
		insn = nop
	}
	return binary.LittleEndian.AppendUint32(nil, insn)
}
