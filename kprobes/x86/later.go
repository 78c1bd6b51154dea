package x86

import (
	"bytes"
	"math"

	"kprobesim/kprobes"
)

// Members of struct kprobe in later kernels. They emulate what depends on its place.
const (
	sizeMember         = "ainsn.size"
	conditionMember    = "ainsn.condition"
	operandMember      = "ainsn.operand"
	displacementMember = "ainsn.displacement"
	emulateMember      = "ainsn.emulate"
)

// later makes of the rules of x86 the rules of kernels that do not step: 5.13 and later. A copy ends with a
// breakpoint. Where it may be boosted, a second one with a jump back lies behind it; that there are two is ours.
func later(a *kprobes.Arch, mode int) {
	a.SlotSize = 2 * slotSize
	a.Learned = ""
	a.Members = []string{
		"opcode", "ainsn.insn", boostableMember, sizeMember, conditionMember, operandMember,
		displacementMember, emulateMember,
	}
	a.Prepare = func(in kprobes.Insn) (kprobes.Copy, error) { return prepareLater(in, mode) }
	a.Boundary = func(fn kprobes.Text, addr uint64) error { return boundary(fn, addr, mode, false) }
	a.SyncsBreakpoints = true // from 5.5 on, from memory; the code of 5.10 and 6.1 does
	o := *a.Optimizer
	o.Patchings, o.Vectors = []string{kprobes.PatchBreakpoint, kprobes.PatchBatch}, true
	a.Optimizer = &o
}

// copyableLater refuses what 6.1 refuses: with EINVAL what it does not copy: what it cannot decode and the
// breakpoint of somebody else, and with EOPNOTSUPP what would do something else in another place.
func copyableLater(in insn, undecodable error) error {
	switch {
	case undecodable != nil, in.Opcode[0] == int3:
		return kprobes.EINVAL
	case refusedLater(in):
		return kprobes.EOPNOTSUPP
	}
	return nil
}

// prepareLater makes the copy of an instruction, or says how it is emulated.
func prepareLater(p kprobes.Insn, mode int) (kprobes.Copy, error) {
	in, err := decode(p.Code, p.Addr, mode)
	if err := copyableLater(in, err); err != nil {
		return kprobes.Copy{}, err
	}
	c := kprobes.Copy{Runs: kprobes.Stepped, Members: []kprobes.Value{
		{Member: "opcode", Number: uint64(p.Code[0])},
		{Member: sizeMember, Number: uint64(len(in.Code))},
	}}
	if e, ok := emulationOf(in); ok {
		c.Runs = kprobes.Emulated
		c.Members = append(c.Members, e...)
		return c, nil
	}
	first, ok := move(in, p.Slot)
	second, ok2 := move(in, p.Slot+slotSize)
	if !ok || !ok2 {
		return kprobes.Copy{}, kprobes.EINVAL
	}
	c.Code = padded(append(first, int3))
	boostable := uint64(0)
	if p.Boost && canBoost(in.Code, mode) && len(in.Code)+jumpSize <= slotSize {
		back, refused := jump(p.Slot+slotSize+uint64(len(in.Code)), in.next())
		if refused != nil {
			return kprobes.Copy{}, kprobes.EINVAL
		}
		c.Code, c.Runs, boostable = append(c.Code, padded(append(second, back...))...), kprobes.Boosted, 1
	}
	c.Members = append(c.Members, kprobes.Value{Member: "ainsn.insn", Number: p.Slot},
		kprobes.Value{Member: boostableMember, Number: boostable}, kprobes.Value{Member: emulateMember})
	return c, nil
}

// padded fills half a slot. Nobody executes the breakpoints.
func padded(code []byte) []byte {
	return append(code, bytes.Repeat([]byte{int3}, slotSize-len(code))...)
}

// refusedLater recognizes far calls and jumps, iret, calls and jumps through memory, and what enters or leaves a virtual
// machine (group 7 with a register).
func refusedLater(in insn) bool {
	op := in.Opcode
	switch op[0] {
	case 0x9a, 0xcf, 0xea:
		return true
	case 0xff:
		reg := in.modrmReg()
		return reg == 3 || reg == 5 || (reg == 2 || reg == 4) && op[1] < 0xc0
	case 0x0f:
		return op[1] == 0x01 && op[2] >= 0xc1 && op[2] <= 0xc4
	}
	return false
}

// emulationOf gives the guest's function for an instruction that is not copied, and what that asks for.
func emulationOf(in insn) ([]kprobes.Value, bool) {
	op := in.Opcode[0]
	name, condition, operand, displacement := "", uint64(op&15), uint64(0), in.displacement()
	switch {
	case op&0xf0 == 0x70:
		name = "emulate_jcc"
	case op == 0x0f && in.Opcode[1]&0xf0 == 0x80:
		name, condition = "emulate_jcc", uint64(in.Opcode[1]&15)
	case op == 0xeb, op == jmpRel32:
		name = "emulate_jmp"
	case op == callRel32:
		name = "emulate_call"
	case op == 0xc3:
		name, displacement = "emulate_ret", 0
	case op == 0xc2:
		name, displacement = "emulate_ret", immediate16(in)
	case op == 0xcb:
		name, displacement = "emulate_ret", segmentWord(in)
	case op == 0xca:
		name, displacement = "emulate_ret", segmentWord(in)+immediate16(in)
	case op >= 0xe0 && op <= 0xe3:
		name, operand = "emulate_loop", narrow(in)
	case op == 0xff && in.modrmReg() == 2:
		name, operand = "emulate_call_reg", register(in)
	case op == 0xff && in.modrmReg() == 4:
		name, operand = "emulate_jmp_reg", register(in)
	default:
		name = map[byte]string{0xfa: "emulate_cli", 0xfb: "emulate_sti", 0x9c: "emulate_pushf", 0x9d: "emulate_popf"}[op]
	}
	return []kprobes.Value{
		{Member: emulateMember, Func: name},
		{Member: conditionMember, Number: condition},
		{Member: operandMember, Number: operand},
		{Member: displacementMember, Number: uint64(uint32(displacement))},
		{Member: "ainsn.insn"},
		{Member: boostableMember, Number: math.MaxUint32},
	}, name != ""
}

// immediate16 is the operand of a return: how many bytes of arguments it drops.
func immediate16(in insn) int64 { return int64(in.Opcode[1]) | int64(in.Opcode[2])<<8 }

// segmentWord is the word that a far return takes from the stack beside the address. The segment is the kernel's, so that it may be
// dropped. In 64-bit mode a return with its whole width has REX.W (SDM vol. 2, RET).
func segmentWord(in insn) int64 {
	if rex := len(in.Code) - len(in.Opcode) - 1; rex >= 0 && in.Code[rex]&0xf8 == 0x48 {
		return 8
	}
	return 4
}

// register is the number of the register that a branch goes through: that of ModR/M and a bit of REX.
func register(in insn) uint64 {
	n := uint64(in.Opcode[1] & 7)
	if rex := len(in.Code) - len(in.Opcode) - 1; rex >= 0 && in.Code[rex]&0xf1 == 0x41 {
		n += 8
	}
	return n
}

// narrow is 1 for a loop that counts in 32 bits, by the prefix of the address size.
func narrow(in insn) uint64 {
	if bytes.IndexByte(in.Code[:len(in.Code)-len(in.Opcode)], 0x67) >= 0 {
		return 1
	}
	return 0
}

// entryCall is the call in the place of a function's first nop. The trampoline lies in the same image.
func entryCall(from, to uint64) []byte {
	call, _ := rel32(callRel32, from, to)
	return call
}
