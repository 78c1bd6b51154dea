package ppc64

import (
	"math"

	"kprobesim/kprobes"
)

// prepare copies one instruction for a slot. Traps are copied as others are. What cannot be stepped is always
// left to the emulator: kernels that ask it before the step correct nothing behind one.
func prepare(in kprobes.Insn) (kprobes.Copy, error) {
	w := wordOf(in.Code)
	if w.changesState() {
		return kprobes.Copy{}, kprobes.EINVAL
	}
	emulates := uint64(math.MaxUint32)
	if in.Boost || w.unsteppable() {
		emulates = 0
	}
	return kprobes.Copy{Code: in.Code[:wordSize:wordSize], Members: []kprobes.Value{
		{Member: "opcode", Number: uint64(w)},
		{Member: "ainsn.insn", Number: in.Slot},
		{Member: learned, Number: emulates},
	}}, nil
}
