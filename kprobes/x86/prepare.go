package x86

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"kprobesim/kprobes"
)

// boundary walks the function from its start, as x86 code can only be read forward. A breakpoint on the way that is foreign
// hides what the instruction there was; another one is the compiler's, behind a return.
// The can_probe of 2.6.33 walks as well.
func boundary(fn kprobes.Text, addr uint64, mode int, foreign bool) error {
	found := false
	walk(fn, mode, func(in insn) bool {
		found = in.Addr == addr
		return in.Addr < addr && !(foreign && in.Opcode[0] == int3)
	})
	if !found {
		return kprobes.EILSEQ
	}
	return nil
}

// prepare copies one instruction for a slot. A kernel of 2010 does not check that the moved
// operand is in reach; here that is EINVAL, as in later kernels. One of 2005 copies whatever stands
// there, as many bytes as an instruction can have.
func prepare(p kprobes.Insn, mode int) (kprobes.Copy, error) {
	in, err := decode(p.Code, p.Addr, mode)
	if err != nil && p.Blind {
		return copyOf(p, p.Code[:min(len(p.Code), slotSize-1)], false), nil
	}
	if err != nil {
		return kprobes.Copy{}, kprobes.EILSEQ
	}
	moved, ok := move(in, p.Slot)
	if !ok {
		return kprobes.Copy{}, kprobes.EINVAL
	}
	c := copyOf(p, moved, p.Boost && canBoost(in.Code, mode))
	c.Leads = leads(in)
	return c, nil
}

// leads reports whether the guest finds at the first step that a copy needs none behind it: a return or a jump that is not
// relative. It looks behind a REX prefix and behind no other, and asks no switch.
func leads(in insn) bool {
	switch op := in.Opcode[0]; {
	case len(in.Code)-len(in.Opcode) > 1 || len(in.Code) > len(in.Opcode) && in.Code[0]&0xf0 != 0x40:
		return false
	case op == 0xff:
		return in.modrmReg()&^1 == 4
	default:
		return returns.has(op)
	}
}

// returns are near and far returns, the return from an interrupt, and the far jump.
const returns opcodes = "c2-c3 ca-cb cf ea"

// copyOf says what a struct kprobe holds of its copy. With ainsn.boostable 0 the guest writes the jump
// back after the first single step, -1 forbids it.
func copyOf(p kprobes.Insn, code []byte, boost bool) kprobes.Copy {
	boostable := uint64(math.MaxUint32)
	if boost {
		boostable = 0
	}
	return kprobes.Copy{Code: code, Members: []kprobes.Value{
		{Member: "opcode", Number: uint64(p.Code[0])},
		{Member: "ainsn.insn", Number: p.Slot},
		{Member: boostableMember, Number: boostable},
	}}
}

// move returns the instruction as it must read at another address so that its memory operand
// stays where it was. Relative branches keep their bytes: after a single step the guest corrects
// the instruction pointer instead. ok is false when the operand is out of reach.
func move(in insn, to uint64) (moved []byte, ok bool) {
	moved = slices.Clone(in.Code)
	if !in.Memory || in.PCRel != 4 {
		return moved, !in.Memory
	}
	d := int64(in.target() - (to + uint64(len(in.Code))))
	if d != int64(int32(d)) {
		return nil, false
	}
	binary.LittleEndian.PutUint32(moved[in.PCRelOff:], uint32(d))
	return moved, true
}

// jump encodes jmp rel32.
// The slot of a boosted probe does without it: there the guest writes the jump back itself.
func jump(from, to uint64) ([]byte, *kprobes.Refusal) {
	return rel32(jmpRel32, from, to)
}

// rel32 encodes a jump or a call with a signed displacement of 32 bits from its end.
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
