package x86

import "kprobesim/kprobes"

// region applies the rules of the safety check in the order of the kernel: those on the whole
// function first, then those on the instructions that would be copied.
func region(s kprobes.Site, mode int) (kprobes.Region, *kprobes.Refusal) {
	if r := whole(s); r != nil {
		return kprobes.Region{}, r
	}
	var refused *kprobes.Refusal
	stuck := walk(s.Fn, mode, func(in insn) bool {
		refused = threat(s, in)
		return refused == nil
	})
	if refused != nil {
		return kprobes.Region{}, refused
	}
	if stuck != 0 {
		return kprobes.Region{}, kprobes.Refuse(kprobes.RuleUndecodable, stuck, "no instruction can be read at %s",
			s.Fn.At(stuck))
	}
	return collect(s, mode)
}

// whole looks at the address and its function as a whole.
func whole(s kprobes.Site) *kprobes.Refusal {
	switch {
	case s.Addr < s.Fn.Start || s.Addr >= s.Fn.End():
		return kprobes.Refuse(kprobes.RuleNoFunction, s.Addr, "no symbol with a size covers %#x", s.Addr)
	case s.EntryText.Contains(s.Addr):
		return kprobes.Refuse(kprobes.RuleEntryText, s.Addr, "%s is exception entry code", s.Fn.At(s.Addr))
	case s.Fn.End()-s.Addr < jumpSize:
		return kprobes.Refuse(kprobes.RuleTooShort, s.Addr,
			"%s has %d bytes up to the end of the function, a jump needs %d",
			s.Fn.At(s.Addr), s.Fn.End()-s.Addr, jumpSize)
	}
	return nil
}

// threat asks of one instruction of the function whether it may bring execution to the middle
// of the region, now or through a fix-up.
// The upper bound of a target is the kernel's, one byte behind the jump. Bytes of the region
// behind that keep the original instructions, so a jump to them does no harm.
func threat(s kprobes.Site, in insn) *kprobes.Refusal {
	switch {
	case s.Exceptions != nil && s.Exceptions(in.Addr):
		return kprobes.Refuse(kprobes.RuleExceptionTable, in.Addr, "%s has an exception table entry", s.Fn.At(in.Addr))
	case in.Opcode[0] == int3:
		return kprobes.Refuse(kprobes.RuleForeign, in.Addr, "%s holds a breakpoint that is not a probe's",
			s.Fn.At(in.Addr))
	case indirectJump(in):
		return kprobes.Refuse(kprobes.RuleIndirectJump, in.Addr, "%s is an indirect jump (%s)",
			s.Fn.At(in.Addr), hex(in.Code))
	case !s.Careless && relativeJump(in) && in.target() > s.Addr && in.target() <= s.Addr+jumpSize:
		return kprobes.Refuse(kprobes.RuleJumpIntoRegion, in.Addr, "%s jumps to %s, behind the start of the region",
			s.Fn.At(in.Addr), s.Fn.At(in.target()))
	}
	return nil
}

// indirectJump recognizes jmp near and far through a register or memory, and jmp far direct.
// Group 5 has jmp near as ff /4 and jmp far as ff /5 (SDM vol. 2, A.4). A table of a switch is
// reached so, and nobody can tell where it leads.
func indirectJump(in insn) bool {
	op := in.Opcode[0]
	return op == 0xea || op == 0xff && in.modrmReg()&6 == 4
}

// relativeJump recognizes jmp, jcc, loop and jcxz; calls are not jumps.
// The kernel leaves them out, as compilers call functions and no places inside of them.
func relativeJump(in insn) bool {
	op := in.Opcode[0]
	if op == 0x0f {
		return in.Opcode[1]&0xf0 == 0x80
	}
	return op&0xf0 == 0x70 || op >= 0xe0 && op <= 0xe3 || op == 0xe9 || op == 0xeb
}

// collect gathers whole instructions until the jump has room.
func collect(s kprobes.Site, mode int) (kprobes.Region, *kprobes.Refusal) {
	code := s.Fn.Code[s.Addr-s.Fn.Start:]
	n := 0
	for n < jumpSize {
		at := s.Addr + uint64(n)
		in, err := decode(code[n:], at, mode)
		if err != nil {
			return kprobes.Region{}, kprobes.Refuse(kprobes.RuleUndecodable, at, "no instruction can be read at %s", s.Fn.At(at))
		}
		if !canBoost(in.Code, mode) {
			return kprobes.Region{}, kprobes.Refuse(kprobes.RuleNotBoostable, at,
				"%s (%s) lies in the region and cannot run elsewhere unaided", s.Fn.At(at), hex(in.Code))
		}
		n += len(in.Code)
	}
	return kprobes.Region{Addr: s.Addr, Code: code[:n:n]}, nil
}
