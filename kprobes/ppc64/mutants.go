package ppc64

import (
	"encoding/binary"

	"kprobesim/kprobes"
)

// nop is ori 0,0,0.
const nop = 0x60000000

// codeMutants are mistakes in the guest's code. They are none where each store is seen at once, and loads are in order.
func codeMutants() []kprobes.CodeMutant {
	left := func([]byte) []byte { return binary.BigEndian.AppendUint32(nil, nop) }
	return []kprobes.CodeMutant{
		{Name: "idle-unfenced", Function: "cpu_idle", Insn: `^(hw)?sync`, Change: left},
		{Name: "answer-unlocked", Function: "smp_answer_call", Insn: `^lwarx|^stwcx|^bne`, Change: unreserved},
		{Name: "call-unordered", Function: "smp_send_call_function", Insn: `^(hw)?sync`, Change: left},
		{Name: "lock-unordered", Function: "guard_quietly", Insn: `^isync`, Change: left},
		{Name: "unlock-unordered", Function: "unguard_quietly", Insn: `^lwsync`, Change: left},
		{Name: "state-unordered", Function: "set_state", Insn: `^lwsync`, Change: left},
		{Name: "state-unobserved", Function: "stop_cpu", Insn: `^lwsync`, Change: left},
		{Name: "switch-unordered", Function: "context_switch", Insn: `^lwsync`, Change: left},
	}
}

// unreserved makes a plain load and store of lwarx and stwcx., and does not look whether that was done.
func unreserved(code []byte) []byte {
	const (
		extended = 0x7ff
		lwarx    = 20 << 1
		lwzx     = 23 << 1
		stwcx    = 150<<1 | 1
		stwx     = 151 << 1
	)
	insn := binary.BigEndian.Uint32(code)
	switch insn & extended {
	case lwarx:
		insn = insn&^extended | lwzx
	case stwcx:
		insn = insn&^extended | stwx
	default:
		insn = nop
	}
	return binary.BigEndian.AppendUint32(nil, insn)
}
