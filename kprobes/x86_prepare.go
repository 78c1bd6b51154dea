package kprobes

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

const (
	x86SlotSize = 16 // MAX_INSN_SIZE
	x86JumpSize = 5  // jmp rel32
	x86Int3     = 0xcc
	x86JmpRel32 = 0xe9
)

// x86Arch is the value for 64-bit mode; the same functions serve 32-bit mode.
func x86Arch(mode int) *Arch {
	return &Arch{
		Name: "x86", Breakpoint: []byte{x86Int3}, SlotSize: x86SlotSize,
		JumpSize: x86JumpSize, MaxRegion: x86SlotSize + 4,
		ReturnBlacklist: []string{"__switch_to"},
		Boundary:        func(fn Text, addr uint64) error { return x86Boundary(fn, addr, mode) },
		Prepare: func(code []byte, addr, slot uint64) (Copy, error) {
			return x86Prepare(code, addr, slot, mode)
		},
		Region: func(s Site) (Region, *Refusal) { return x86Region(s, mode) },
		Detour: func(t Template, r Region, d DetourAt) (Detour, *Refusal) {
			return x86Detour(t, r, d, mode)
		},
		Jump:     x86Jump,
		Classify: func(code []byte, pc uint64) Class { return x86Classify(code, pc, mode) },
		Atomic:   x86Atomic,
	}
}

// x86Boundary walks the function from its start, as x86 code can only be read forward. A foreign
// breakpoint on the way hides what the instruction there was.
func x86Boundary(fn Text, addr uint64, mode int) error {
	if addr < fn.Start || addr >= fn.End() {
		return EILSEQ
	}
	found := false
	stuck := x86Walk(fn, mode, func(in x86Insn) bool {
		found = in.Addr == addr
		return in.Addr < addr && in.Opcode[0] != x86Int3
	})
	if stuck != 0 || !found {
		return EILSEQ
	}
	return nil
}

// x86Prepare copies one instruction for a slot. A kernel of 2010 does not check that the moved
// operand is in reach; here that is EINVAL, as in later kernels.
func x86Prepare(code []byte, addr, slot uint64, mode int) (Copy, error) {
	in, err := x86Decode(code, addr, mode)
	if err != nil {
		return Copy{}, EILSEQ
	}
	moved, ok := x86Move(in, slot)
	if !ok {
		return Copy{}, EINVAL
	}
	return Copy{Code: moved, Boostable: x86CanBoost(in.Code, mode)}, nil
}

// x86Move returns the instruction as it must read at another address so that its memory operand
// stays where it was. Relative branches keep their bytes: after a single step the guest corrects
// the instruction pointer instead. ok is false when the operand is out of reach.
func x86Move(in x86Insn, to uint64) (moved []byte, ok bool) {
	moved = slices.Clone(in.Code)
	if !in.Memory || in.PCRel != 4 {
		return moved, !in.Memory
	}
	d := int64(in.Target() - (to + uint64(len(in.Code))))
	if d != int64(int32(d)) {
		return nil, false
	}
	binary.LittleEndian.PutUint32(moved[in.PCRelOff:], uint32(d))
	return moved, true
}

// x86Jump encodes jmp rel32.
func x86Jump(from, to uint64) ([]byte, *Refusal) {
	return x86Rel32(x86JmpRel32, from, to)
}

func x86Rel32(opcode byte, from, to uint64) ([]byte, *Refusal) {
	d := int64(to - (from + x86JumpSize))
	if d < math.MinInt32 || d > math.MaxInt32 {
		return nil, refuse(RuleOutOfRange, from,
			"the branch at %#x does not reach %#x: more than 2 GiB apart", from, to)
	}
	return binary.LittleEndian.AppendUint32([]byte{opcode}, uint32(d)), nil
}

// hex shows instruction bytes in a sentence.
func hex(code []byte) string { return fmt.Sprintf("% x", code) }
