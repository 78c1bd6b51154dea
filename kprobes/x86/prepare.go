package x86

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"kprobesim/kprobes"
)

const (
	slotSize = 16 // MAX_INSN_SIZE
	jumpSize = 5  // jmp rel32
	int3     = 0xcc
	jmpRel32 = 0xe9
)

// Arch64 returns the rules of kernels in 64-bit mode.
func Arch64() *kprobes.Arch { return arch(64) }

// Arch32 returns the rules of kernels in 32-bit mode.
func Arch32() *kprobes.Arch { return arch(32) }

// arch is the value for 64-bit mode; the same functions serve 32-bit mode.
func arch(mode int) *kprobes.Arch {
	return &kprobes.Arch{
		Name: "x86", Breakpoint: []byte{int3}, SlotSize: slotSize,
		JumpSize: jumpSize, MaxRegion: slotSize + 4,
		ReturnBlacklist: []string{"__switch_to"},
		Boundary:        func(fn kprobes.Text, addr uint64) error { return boundary(fn, addr, mode) },
		Prepare: func(code []byte, addr, slot uint64) (kprobes.Copy, error) {
			return prepare(code, addr, slot, mode)
		},
		Region: func(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) { return region(s, mode) },
		Detour: func(t kprobes.Template, r kprobes.Region, d kprobes.DetourAt) (kprobes.Detour, *kprobes.Refusal) {
			return detour(t, r, d, mode)
		},
		Jump:     jump,
		Classify: func(code []byte, pc uint64) kprobes.Class { return classify(code, pc, mode) },
		Atomic:   atomic,
	}
}

// boundary walks the function from its start, as x86 code can only be read forward. A foreign
// breakpoint on the way hides what the instruction there was.
func boundary(fn kprobes.Text, addr uint64, mode int) error {
	if addr < fn.Start || addr >= fn.End() {
		return kprobes.EILSEQ
	}
	found := false
	stuck := walk(fn, mode, func(in insn) bool {
		found = in.Addr == addr
		return in.Addr < addr && in.Opcode[0] != int3
	})
	if stuck != 0 || !found {
		return kprobes.EILSEQ
	}
	return nil
}

// prepare copies one instruction for a slot. A kernel of 2010 does not check that the moved
// operand is in reach; here that is EINVAL, as in later kernels.
func prepare(code []byte, addr, slot uint64, mode int) (kprobes.Copy, error) {
	in, err := decode(code, addr, mode)
	if err != nil {
		return kprobes.Copy{}, kprobes.EILSEQ
	}
	moved, ok := move(in, slot)
	if !ok {
		return kprobes.Copy{}, kprobes.EINVAL
	}
	return kprobes.Copy{Code: moved, Boostable: canBoost(in.Code, mode)}, nil
}

// move returns the instruction as it must read at another address so that its memory operand
// stays where it was. Relative branches keep their bytes: after a single step the guest corrects
// the instruction pointer instead. ok is false when the operand is out of reach.
func move(in insn, to uint64) (moved []byte, ok bool) {
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

// jump encodes jmp rel32.
func jump(from, to uint64) ([]byte, *kprobes.Refusal) {
	return rel32(jmpRel32, from, to)
}

func rel32(opcode byte, from, to uint64) ([]byte, *kprobes.Refusal) {
	d := int64(to - (from + jumpSize))
	if d < math.MinInt32 || d > math.MaxInt32 {
		return nil, kprobes.Refuse(kprobes.RuleOutOfRange, from,
			"the branch at %#x does not reach %#x: more than 2 GiB apart", from, to)
	}
	return binary.LittleEndian.AppendUint32([]byte{opcode}, uint32(d)), nil
}

// hex shows instruction bytes in a sentence.
func hex(code []byte) string { return fmt.Sprintf("% x", code) }
