package kprobes

// x86Region applies the rules of the safety check in the order of the kernel: those on the whole
// function first, then those on the instructions that would be copied.
func x86Region(s Site, mode int) (Region, *Refusal) {
	if r := x86Whole(s); r != nil {
		return Region{}, r
	}
	var refused *Refusal
	stuck := x86Walk(s.Fn, mode, func(in x86Insn) bool {
		refused = x86Threat(s, in)
		return refused == nil
	})
	if refused != nil {
		return Region{}, refused
	}
	if stuck != 0 {
		return Region{}, refuse(RuleUndecodable, stuck, "no instruction can be read at %s",
			s.Fn.at(stuck))
	}
	return x86Collect(s, mode)
}

// x86Whole looks at the place alone.
func x86Whole(s Site) *Refusal {
	switch {
	case len(s.Fn.Code) == 0 || s.Addr < s.Fn.Start || s.Addr >= s.Fn.End():
		return refuse(RuleNoFunction, s.Addr, "no symbol with a size covers %#x", s.Addr)
	case s.EntryText.Contains(s.Addr):
		return refuse(RuleEntryText, s.Addr, "%s is exception entry code", s.Fn.at(s.Addr))
	case s.Fn.End()-s.Addr < x86JumpSize:
		return refuse(RuleTooShort, s.Addr,
			"%s has %d bytes up to the end of the function, a jump needs %d",
			s.Fn.at(s.Addr), s.Fn.End()-s.Addr, x86JumpSize)
	}
	return nil
}

// x86Threat asks of one instruction of the function whether it may bring execution to the middle
// of the region, now or through a fix-up.
func x86Threat(s Site, in x86Insn) *Refusal {
	switch {
	case s.Exceptions != nil && s.Exceptions(in.Addr):
		return refuse(RuleExceptionTable, in.Addr, "%s has an exception table entry", s.Fn.at(in.Addr))
	case in.Opcode[0] == x86Int3:
		return refuse(RuleForeign, in.Addr, "%s holds a breakpoint that is not a probe's",
			s.Fn.at(in.Addr))
	case x86IndirectJump(in):
		return refuse(RuleIndirectJump, in.Addr, "%s is an indirect jump (%s)",
			s.Fn.at(in.Addr), hex(in.Code))
	case !s.Careless && x86RelativeJump(in) && in.Target() > s.Addr && in.Target() <= s.Addr+x86JumpSize:
		return refuse(RuleJumpIntoRegion, in.Addr, "%s jumps to %s, behind the start of the region",
			s.Fn.at(in.Addr), s.Fn.at(in.Target()))
	}
	return nil
}

// x86IndirectJump recognizes jmp near and far through a register or memory, and jmp far direct.
func x86IndirectJump(in x86Insn) bool {
	op := in.Opcode[0]
	return op == 0xea || op == 0xff && in.modrmReg()&6 == 4
}

// x86RelativeJump recognizes jmp, jcc, loop and jcxz; calls are not jumps.
func x86RelativeJump(in x86Insn) bool {
	op := in.Opcode[0]
	if op == 0x0f {
		return len(in.Opcode) > 1 && in.Opcode[1]&0xf0 == 0x80
	}
	return op&0xf0 == 0x70 || op >= 0xe0 && op <= 0xe3 || op == 0xe9 || op == 0xeb
}

// x86Collect gathers whole instructions until the jump has room.
func x86Collect(s Site, mode int) (Region, *Refusal) {
	code := s.Fn.Code[s.Addr-s.Fn.Start:]
	n := 0
	for n < x86JumpSize {
		at := s.Addr + uint64(n)
		in, err := x86Decode(code[n:], at, mode)
		if err != nil {
			return Region{}, refuse(RuleUndecodable, at, "no instruction can be read at %s", s.Fn.at(at))
		}
		if !x86CanBoost(in.Code, mode) {
			return Region{}, refuse(RuleNotBoostable, at,
				"%s (%s) lies in the region and cannot run elsewhere unaided", s.Fn.at(at), hex(in.Code))
		}
		n += len(in.Code)
	}
	return Region{Addr: s.Addr, Code: code[:n:n]}, nil
}
