package x86

import (
	"encoding/binary"

	"kprobesim/kprobes"
)

// pause is how code says that it waits in a loop.
// A rep prefix in front of nop, which older processors ignore (SDM vol. 2, PAUSE).
const pause = "\xf3\x90"

// classify decides by the first bytes where it can, as decoding is slow.
// Package races asks while a machine runs, mostly about the three kinds that need no decoding.
func classify(code []byte, pc uint64, mode int) kprobes.Class {
	switch {
	case len(code) > 0 && code[0] == int3:
		return kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 1}
	case len(code) >= jumpSize && code[0] == jmpRel32:
		return kprobes.Class{Kind: kprobes.ClassJump, Len: jumpSize, Target: jumpTarget(code, pc, mode)}
	case len(code) >= len(pause) && string(code[:len(pause)]) == pause:
		return kprobes.Class{Kind: kprobes.ClassSpin, Len: len(pause)}
	}
	in, err := decode(code, pc, mode)
	if err != nil {
		return kprobes.Class{}
	}
	return kprobes.Class{Len: len(in.Code)}
}

// jumpTarget is where jmp rel32 leads. In 32-bit mode addresses wrap around at 4 GiB.
// The displacement counts from behind the jump and is signed (SDM vol. 2, JMP).
func jumpTarget(code []byte, pc uint64, mode int) uint64 {
	to := pc + jumpSize + uint64(int64(int32(binary.LittleEndian.Uint32(code[1:]))))
	if mode == 32 {
		return uint64(uint32(to))
	}
	return to
}

// atomic follows the Intel SDM, vol. 3, 8.1.3: code that another processor has modified is
// unpredictable until this one has executed a serializing instruction. The one exception, on which the
// breakpoint protocol of Linux rests, is a breakpoint that comes or goes in the first byte of an instruction.
func atomic(pc, addr uint64, old, changed []byte) bool {
	return addr == pc && len(old) == 1 && len(changed) == 1 && (old[0] == int3 || changed[0] == int3)
}
