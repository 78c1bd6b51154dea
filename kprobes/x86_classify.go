package kprobes

import "encoding/binary"

// x86Pause is how code says that it waits in a loop.
const x86Pause = "\xf3\x90"

// x86Classify decides by the first bytes where it can, as decoding is slow.
func x86Classify(code []byte, pc uint64, mode int) Class {
	switch {
	case len(code) > 0 && code[0] == x86Int3:
		return Class{Kind: ClassBreakpoint, Len: 1}
	case len(code) >= x86JumpSize && code[0] == x86JmpRel32:
		return Class{Kind: ClassJump, Len: x86JumpSize, Target: x86JumpTarget(code, pc, mode)}
	case len(code) >= len(x86Pause) && string(code[:len(x86Pause)]) == x86Pause:
		return Class{Kind: ClassSpin, Len: len(x86Pause)}
	}
	in, err := x86Decode(code, pc, mode)
	if err != nil {
		return Class{}
	}
	return Class{Len: len(in.Code)}
}

// x86JumpTarget is where jmp rel32 leads. In 32-bit mode addresses wrap around at 4 GiB.
func x86JumpTarget(code []byte, pc uint64, mode int) uint64 {
	to := pc + x86JumpSize + uint64(int64(int32(binary.LittleEndian.Uint32(code[1:]))))
	if mode == 32 {
		return uint64(uint32(to))
	}
	return to
}

// x86Atomic follows the Intel SDM, vol. 3, 8.1.3: code that another processor has modified is
// unpredictable until this one has executed a serializing instruction. The one exception, on which the
// breakpoint protocol of Linux rests, is a breakpoint that comes or goes in the first byte of an instruction.
func x86Atomic(pc, addr uint64, old, changed []byte) bool {
	return addr == pc && len(old) == 1 && len(changed) == 1 && (old[0] == x86Int3 || changed[0] == x86Int3)
}
