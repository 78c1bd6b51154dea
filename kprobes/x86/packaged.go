package x86

import (
	"cmp"
	"slices"
	"strings"

	"kprobesim/kprobes"
)

// Packaged has the rules of kernels from 5.10 on for code that they run, as far as the rules look at bytes.
// They differ from the rules of the kernels of this project in what a decoder must know, as a distribution's kernel has
// instructions that these have not.
type Packaged struct {
	Mode int // 64 or 32
	// Groups has the rules know an instruction by more than its first byte, as from 6.9 on: members of groups 2 to 5 run
	// elsewhere unaided, and traps of the kernel's own take no probe (J. Jia, x86/kprobes: Boost more instructions from
	// grp2/3/4/5, and Prohibit kprobing on INT and UD, 4 February 2024).
	Groups bool
	// Boosts has a copy be followed by a jump back where it may be, as kernels without preemption do:
	// a hit takes one exception then, as in Debian's 5.10.
	Boosts bool
	// Thunks is where the kernel's retpolines are: a jump there is an indirect one. Untabled says that indirect jumps are no threat,
	// because a kernel that is built with retpolines has no tables of jumps (P. Pavlu, x86/retpoline,kprobes: Skip optprobe check
	// for indirect jumps with retpolines and IBT, commit 833fd80, 6.6).
	Thunks   kprobes.Span
	Untabled bool

	last *walked // nil: every look decodes anew
}

// walked is a function as it was decoded.
type walked struct {
	fn    kprobes.Text
	insns []insn
	jumps []insn // and what has an entry in the exception table: no other instruction is a threat
	stuck uint64
}

// Remembering returns rules that keep the function which was looked at last. They are for one goroutine, and for text that
// does not change meanwhile.
func (p Packaged) Remembering() Packaged {
	p.last = &walked{}
	return p
}

// Boundary reports whether an instruction of the function starts at addr. A breakpoint on the way is one of the
// compiler's, behind a jump or a return.
func (p Packaged) Boundary(fn kprobes.Text, addr uint64) bool {
	if p.last != nil {
		p.walk(fn, func(insn) bool { return false })
		_, found := slices.BinarySearchFunc(p.last.insns, addr, func(in insn, at uint64) int { return cmp.Compare(in.Addr, at) })
		return found
	}
	found := false
	p.walk(fn, func(in insn) bool {
		found = in.Addr == addr
		return in.Addr < addr
	})
	return found
}

// Run says how a hit runs the instruction at the start of code: Emulated, Boosted, or Stepped, by which a copy with a breakpoint
// behind it is meant. The error is EINVAL, EOPNOTSUPP or EILSEQ.
func (p Packaged) Run(code []byte, addr uint64) (kprobes.Mode, error) {
	in, err := p.decode(code, addr)
	if p.Groups && err == nil && trap(in) {
		return 0, kprobes.EILSEQ
	}
	if err := copyableLater(in, err); err != nil {
		return 0, err
	}
	if _, ok := emulationOf(in); ok {
		return kprobes.Emulated, nil
	}
	if p.Boosts && p.canBoost(in) && len(in.Code)+jumpSize <= slotSize {
		return kprobes.Boosted, nil
	}
	return kprobes.Stepped, nil
}

// Leaves reports whether the instruction at the start of code may have the program go on elsewhere and not come back. A near call
// does.
func (p Packaged) Leaves(code []byte) bool {
	const nearCall = 0xe8 // SDM vol. 2, CALL
	run, err := p.Run(code, 0)
	return err == nil && run == kprobes.Emulated && code[0] != nearCall
}

// trap recognizes int3, int, into and int1, and ud0, ud1 and ud2 (SDM vol. 2, INT and UD).
func trap(in insn) bool {
	op := in.Opcode
	switch op[0] {
	case int3, 0xcd, 0xce, 0xf1:
		return true
	case 0x0f:
		return op[1] == 0x0b || op[1] == 0xb9 || op[1] == 0xff
	}
	return false
}

// Region applies the safety check of jump optimization. Breakpoints of the compiler and of the kernel stand behind
// returns and jumps and at the end of functions; they are no threat.
func (p Packaged) Region(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) {
	if r := whole(s); r != nil {
		return kprobes.Region{}, r
	}
	var refused *kprobes.Refusal
	stuck := p.threats(s, func(in insn) bool {
		switch {
		case in.Opcode[0] == int3, p.Untabled && indirectJump(in) && (s.Exceptions == nil || !s.Exceptions(in.Addr)):
			return true
		case relativeJump(in) && p.Thunks.Contains(in.target()):
			refused = kprobes.Refuse(kprobes.RuleIndirectJump, in.Addr, "%s jumps by a retpoline, which may lead anywhere", s.Fn.At(in.Addr))
		default:
			refused = threat(s, in)
		}
		return refused == nil
	})
	if refused == nil && stuck != 0 {
		refused = kprobes.Refuse(kprobes.RuleUndecodable, stuck, "no instruction can be read at %s", s.Fn.At(stuck))
	}
	if refused != nil {
		return kprobes.Region{}, refused
	}
	return p.collect(s)
}

// threats calls f for each instruction that may be a threat, until it returns false.
func (p Packaged) threats(s kprobes.Site, f func(insn) bool) (stuck uint64) {
	if p.last == nil {
		return p.walk(s.Fn, f)
	}
	p.walk(s.Fn, func(insn) bool { return false })
	l := p.last
	if l.jumps == nil {
		l.jumps = []insn{}
		for _, in := range l.insns {
			if relativeJump(in) || indirectJump(in) || s.Exceptions != nil && s.Exceptions(in.Addr) {
				l.jumps = append(l.jumps, in)
			}
		}
	}
	for _, in := range l.jumps {
		if !f(in) {
			break
		}
	}
	return l.stuck
}

// collect gathers whole instructions until the jump has room.
func (p Packaged) collect(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) {
	code, n := s.Fn.Code[s.Addr-s.Fn.Start:], 0
	for n < jumpSize {
		at := s.Addr + uint64(n)
		in, err := p.decode(code[n:], at)
		if err != nil {
			return kprobes.Region{}, kprobes.Refuse(kprobes.RuleUndecodable, at, "no instruction can be read at %s", s.Fn.At(at))
		}
		if !p.canBoost(in) {
			return kprobes.Region{}, kprobes.Refuse(kprobes.RuleNotBoostable, at,
				"%s (%s) lies in the region and cannot run elsewhere unaided", s.Fn.At(at), hex(in.Code))
		}
		n += len(in.Code)
	}
	return kprobes.Region{Addr: s.Addr, Code: code[:n:n]}, nil
}

// canBoost is the rule for one instruction. Of group 5 the near jump passes. Of the map behind 0f the instructions of 2010 do, and
// the long nop; prefixes do not count there. Of the longer maps nothing does.
func (p Packaged) canBoost(in insn) bool {
	op := in.Opcode
	if boosts, known := boostsMember(in); p.Groups && known {
		return boosts
	}
	switch {
	case op[0] == 0xff:
		return in.modrmReg() == 4
	case op[0] == 0x0f && (op[1] == 0x38 || op[1] == 0x3a), vector(op, p.Mode):
		return false
	case op[0] == 0x0f:
		return op[1] == 0x1f || boost0F.has(op[1])
	}
	return canBoost(in.Code, p.Mode)
}

// boostsMember is the rule of 6.9 for a member of groups 2 to 5: of shifts and of unary operations all but the one that is
// reserved, inc and dec, and the near jump (SDM vol. 2, table A-6).
func boostsMember(in insn) (boosts, known bool) {
	reg := in.modrmReg()
	switch in.Opcode[0] {
	case 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3:
		return reg != 6, true
	case 0xf6, 0xf7:
		return reg != 1, true
	case 0xfe:
		return reg < 2, true
	case 0xff:
		return reg < 2 || reg == 4, true
	}
	return false, false
}

// walk calls f for each instruction of a function until f has enough, and returns where none can be read; 0 for nowhere.
func (p Packaged) walk(fn kprobes.Text, f func(insn) bool) (stuck uint64) {
	if p.last == nil {
		return walkBy(fn, p.decode, f)
	}
	if l := p.last; l.fn.Start != fn.Start || len(l.fn.Code) != len(fn.Code) {
		l.fn, l.insns, l.jumps = fn, l.insns[:0], nil
		l.stuck = walkBy(fn, p.decode, func(in insn) bool {
			l.insns = append(l.insns, in)
			return true
		})
	}
	for _, in := range p.last.insns {
		if !f(in) {
			return 0
		}
	}
	return p.last.stuck
}

// decode decodes the first instruction of code. The library's decoder knows few instructions of this century; the
// length of the others follows from their opcode map, and no more is asked of them. So does that of all with VEX or
// EVEX: the library takes the byte behind vzeroupper for a part of it, and does not notice that an operand is cut off.
func (p Packaged) decode(code []byte, addr uint64) (insn, error) {
	if !vector(opcodeOf(code, p.Mode), p.Mode) {
		if in, err := decode(code, addr, p.Mode); err == nil {
			return in, nil
		}
	}
	if n := lengthByMap(code, p.Mode); n > 0 && n <= len(code) && n <= maxInsn {
		return insn{Addr: addr, Code: code[:n], Opcode: opcodeOf(code[:n], p.Mode)}, nil
	}
	return insn{}, errUndecodable
}

// vector recognizes the prefixes VEX and EVEX. In 32-bit mode they are instructions where a memory operand
// follows (SDM vol. 2, 2.3.5 and 2.7.1).
func vector(op []byte, mode int) bool {
	return len(op) > 1 && (op[0] == 0xc4 || op[0] == 0xc5 || op[0] == 0x62) && (mode == 64 || op[1] >= 0xc0)
}

// lengthByMap is the length of an instruction of the opcode maps behind 0f, or behind VEX or EVEX, or 0
// (SDM vol. 2, 2.1, 2.3, 2.7 and appendix A). In the map behind 0f 3a all have an immediate byte, in that behind 0f
// the ones of withImmediate.
func lengthByMap(code []byte, mode int) int {
	op := opcodeOf(code, mode)
	n := len(code) - len(op)
	if len(op) < 3 {
		return 0
	}
	table := 1
	switch {
	case vector(op, mode) && op[0] == 0xc5:
		n, op = n+2, op[2:]
	case vector(op, mode) && op[0] == 0xc4:
		n, table, op = n+3, int(op[1]&0x1f), op[3:]
	case vector(op, mode) && len(op) > 4:
		n, table, op = n+4, int(op[1]&7), op[4:]
	case op[0] == 0x0f && op[1] == 0x38:
		n, table, op = n+2, 2, op[2:]
	case op[0] == 0x0f && op[1] == 0x3a:
		n, table, op = n+2, 3, op[2:]
	case op[0] == 0x0f:
		n, op = n+1, op[1:]
	default:
		return 0
	}
	switch {
	case table == 1 && len(op) > 0 && op[0] == 0x77: // vzeroupper, vzeroall and emms have no ModR/M
		return n + 1
	case len(op) < 2 || table < 1 || table > 3:
		return 0
	}
	n += 1 + modrmLength(op[1:])
	if table == 3 || table == 1 && withImmediate(op[0]) {
		n++
	}
	return n
}

// withImmediate lists opcodes behind 0f with ModR/M and an immediate byte: vector shifts and shuffles, shld and shrd,
// the bit tests of group 8, comparisons and inserts.
func withImmediate(op byte) bool {
	return strings.IndexByte("\x70\x71\x72\x73\xa4\xac\xba\xc2\xc4\xc5\xc6", op) >= 0
}

// modrmLength is the length of ModR/M, SIB and displacement with addresses of 32 or 64 bits (SDM vol. 2, tables 2-2
// and 2-3).
func modrmLength(b []byte) int {
	mod, rm, n := b[0]>>6, b[0]&7, 1
	if mod == 3 {
		return n
	}
	base := rm
	if rm == 4 {
		if len(b) < 2 {
			return maxInsn
		}
		base, n = b[1]&7, 2
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && base == 5:
		n += 4
	}
	return n
}

// Starts lists where the instructions of a function begin, up to one that cannot be read.
func (p Packaged) Starts(fn kprobes.Text) (out []uint64) {
	p.walk(fn, func(in insn) bool {
		out = append(out, in.Addr)
		return true
	})
	return out
}
