package x86

import "fmt"

// skip is code that sets ebx to 1 unless the branch before it is taken.
var skip = []byte{0xbb, 1, 0, 0, 0}

// ebxAway keeps the marker of skip apart from its starting value.
func ebxAway(v *vector) { v.regs[rbx] |= 0x100 }

func buildConditions(g *gen) {
	for cc := range byte(16) {
		g.raw(fmt.Sprintf("jcc short %d", cc), 0, append([]byte{0x70 | cc, 5}, skip...)...).also(ebxAway).times(4)
		g.raw(fmt.Sprintf("jcc near %d", cc), 0, append([]byte{0x0f, 0x80 | cc, 5, 0, 0, 0}, skip...)...).also(ebxAway).times(4)
		g.backward(cc)
		each(2, func() { g.xr(fmt.Sprintf("setcc %d", cc), 0, 1, 0, []byte{0x0f, 0x90 | cc}, nil).times(2) })
		each(2, func() { g.xm(fmt.Sprintf("setcc %d", cc), 0, 1, 0, []byte{0x0f, 0x90 | cc}, nil, nil).times(2) })
		for _, w := range []int{2, 4, 8} {
			each(2, func() { g.rr(fmt.Sprintf("cmov %d", cc), 0, w, []byte{0x0f, 0x40 | cc}, nil).times(2) })
			each(2, func() { g.rm(fmt.Sprintf("cmov %d", cc), 0, w, []byte{0x0f, 0x40 | cc}, nil, nil).times(2) })
		}
		// flags straight from arithmetic, which the simulator keeps in another form than popf leaves
		for i, w := range widths {
			for _, op := range []byte{0x00, 0x28, 0x38, 0x20} {
				code := insn{width: w, op: opcode(w, op), modrm: true, reg: gpr{n: rcx}, rm: gpr{n: rdx}}.encode(0)
				code = append(code, 0x0f, 0x90|cc, 0xc3)
				undef := uint64(0)
				if op == 0x20 {
					undef = flagAF
				}
				g.raw(fmt.Sprintf("flags of %#x width %d, setcc %d", op, i, cc), undef, code...)
			}
		}
	}
}

// backward adds a conditional branch to lower addresses.
func (g *gen) backward(cc byte) {
	// jmp 2f; 1: mov $1,%ebx; jmp 3f; 2: jcc 1b; 3:
	code := append([]byte{0xeb, 7}, skip...)
	g.raw(fmt.Sprintf("jcc backward %d", cc), 0, append(code, 0xeb, 2, 0x70|cc, 0xf7)...).also(ebxAway)
}

// stackIn points rsp at the middle of the sandbox, aligned or not.
func stackIn(v *vector) { v.regs[rsp] = sandboxMid - 16 + v.rng.Uint64N(33) }

// clearWord clears the word that a push writes: of a segment register's, some processors write 16 bits
// and others all (SDM vol. 2, PUSH).
func clearWord(v *vector) { clear(v.mem[v.regs[rsp]-8-sandboxVA : v.regs[rsp]-sandboxVA]) }

func buildControl(g *gen) {
	g.raw("jmp short", 0, append([]byte{0xeb, 5}, skip...)...)
	g.raw("jmp near", 0, append([]byte{0xe9, 5, 0, 0, 0}, skip...)...)
	// call over skip, then drop the return address
	g.raw("call", 0, append([]byte{0xe8, 5, 0, 0, 0}, append(skip, 0x58)...)...).also(stackIn)
	// call 1f; jmp 2f; 1: mov $1,%ebx; ret; 2:
	g.raw("call and ret", 0, append([]byte{0xe8, 2, 0, 0, 0, 0xeb, 6}, append(skip, 0xc3)...)...).also(stackIn)
	g.raw("call and ret imm", 0, append([]byte{0xe8, 2, 0, 0, 0, 0xeb, 8}, append(skip, 0xc2, 9, 0)...)...).also(stackIn)
	each(shapes, g.indirectMemory)
	for r := range 16 {
		g.indirectRegister(r)
	}
	g.farReturns()
	g.counted()
}

// indirectRegister adds jmp and call to the end of the form by register.
func (g *gen) indirectRegister(r int) {
	f := g.add("jmp register", 0, insn{width: 4, op: []byte{0xff}, modrm: true, reg: gpr{n: 4}, rm: gpr{n: r}})
	f.also(func(v *vector) { v.regs[r] = f.at + uint64(len(f.code)) })
	f = g.add("call register", 0, insn{width: 4, op: []byte{0xff}, modrm: true, reg: gpr{n: 2}, rm: gpr{n: r}})
	f.also(stackIn).also(func(v *vector) {
		v.regs[r] = f.at + uint64(len(f.code))
		if r == rsp {
			v.regs[rsp] = sandboxMid // a jump into data, which faults on both sides
		}
	})
}

// indirectMemory adds jmp and call through memory.
func (g *gen) indirectMemory() {
	for _, ext := range []int{2, 4} {
		m, fix := g.mem(8, rsp)
		f := g.add(fmt.Sprintf("indirect /%d", ext), 0, insn{width: 4, op: []byte{0xff}, modrm: true, reg: gpr{n: ext}, mem: m})
		f.also(fix).also(func(v *vector) {
			v.regs[rsp] = sandboxVA + 40
			copy(v.mem[m.address(v)-sandboxVA:], le64(f.at+uint64(len(f.code))))
		})
	}
}

// farReturns adds lret, far jumps through memory and iretq, all within user mode.
func (g *gen) farReturns() {
	for _, x := range []struct {
		pre  []byte
		size int
		imm  []byte
	}{{nil, 4, nil}, {[]byte{0x48}, 8, nil}, {nil, 4, []byte{5, 0}}, {[]byte{0x48}, 8, []byte{24, 0}}} {
		op := byte(0xcb)
		if x.imm != nil {
			op = 0xca
		}
		f := g.raw(fmt.Sprintf("lret size %d", x.size), 0, append(append(append([]byte{}, x.pre...), op), x.imm...)...)
		f.also(stackIn).also(func(v *vector) {
			at := v.mem[v.regs[rsp]-sandboxVA:]
			copy(at, le64(f.at + uint64(len(f.code)))[:x.size])
			copy(at[x.size:], le64(g.userCS())[:x.size])
		})
	}
	m := &memop{base: rdi, index: -1}
	for _, n := range []int{3, 5} { // lcall, ljmp
		f := g.add(fmt.Sprintf("far m16:32 /%d", n), 0, insn{width: 4, op: []byte{0xff}, modrm: true, reg: gpr{n: n}, mem: m})
		f.also(stackIn).also(func(v *vector) {
			v.regs[rdi] = sandboxVA + 50
			copy(v.mem[50:], append(le32(uint32(f.at)+uint32(len(f.code))), le16(uint16(g.userCS()))...))
		})
	}
	if g.bits == 64 { // iretd
		f := g.raw("iretd", 0, 0xcf)
		f.also(stackIn).also(func(v *vector) {
			for i, w := range []uint64{f.at + uint64(len(f.code)), userCS, flagOne, sandboxMid, userDS} {
				copy(v.mem[v.regs[rsp]-sandboxVA+uint64(4*i):], le32(uint32(w)))
			}
		})
	}
	code, n := []byte{0x48, 0xcf}, 5
	if g.bits == 32 {
		code, n = []byte{0xcf}, 3
	}
	f := g.raw("iret", 0, code...)
	f.also(stackIn).also(func(v *vector) {
		at := v.mem[v.regs[rsp]-sandboxVA:]
		flags := v.rng.Uint64()&(arith|flagDF|flagAC|flagID) | flagOne
		if v.regs[rsp]&7 != 0 {
			flags &^= flagAC // some processors check the rest of the frame by it, and #AC is not modelled
		}
		for i, w := range []uint64{f.at + uint64(len(f.code)), g.userCS(), flags, v.rng.Uint64(), userDS}[:n] {
			copy(at[g.bits/8*i:], le64(w)[:g.bits/8])
		}
	}).times(6)
}

// counted adds loop, loope, loopne and jrcxz, with both sizes of counter.
func (g *gen) counted() {
	few := func(v *vector) {
		ebxAway(v)
		v.regs[rcx] = []uint64{0, 1, 2, 3, 1 << 32, 1<<32 + 1, ^uint64(0)}[v.rng.IntN(7)]
	}
	for _, op := range []byte{0xe0, 0xe1, 0xe2, 0xe3} {
		g.raw(fmt.Sprintf("count %#x", op), 0, append([]byte{op, 5}, skip...)...).also(few).times(4)
		g.raw(fmt.Sprintf("count32 %#x", op), 0, append([]byte{0x67, op, 5}, skip...)...).also(few).times(4)
	}
	// 1: inc %rax; loop 1b
	g.raw("loop body", 0, 0x48, 0xff, 0xc0, 0xe2, 0xfb).also(func(v *vector) { v.regs[rcx] = 1 + v.rng.Uint64N(40) })
}

func buildStack(g *gen) {
	for r := range 16 {
		g.add("push "+regNames[r], 0, insn{width: 8, noW: true, op: []byte{0x50}, rm: gpr{n: r}}).also(stackIn)
		g.add("pop "+regNames[r], 0, insn{width: 8, noW: true, op: []byte{0x58}, rm: gpr{n: r}}).also(stackIn)
		g.xrStack(r)
	}
	g.raw("push imm8", 0, 0x6a, 0x80).also(stackIn)
	g.raw("push imm32", 0, 0x68, 0x78, 0x56, 0x34, 0x92).also(stackIn)
	each(2*shapes, g.stackMemory)
	g.stackOnStack()
	g.shortStack()
	g.raw("push fs", 0, 0x0f, 0xa0).also(stackIn).also(clearWord)
	g.raw("push gs", 0, 0x0f, 0xa8).also(stackIn).also(clearWord)
	g.raw("leave", 0, 0xc9).also(func(v *vector) { v.regs[rbp] = sandboxVA + v.rng.Uint64N(200) })
	for _, n := range []uint16{0, 8, 17, 0x7fff, 0x8000, 0xffff} {
		g.raw("enter", 0, append([]byte{0xc8}, append(le16(n), 0)...)...).also(stackInHigh)
	}
	g.raw("pushf", 0, 0x9c).also(stackIn)
	g.raw("pushf16", 0, 0x66, 0x9c).also(stackIn)
	g.popFlags()
}

// stackInHigh leaves room below: enter probes the bottom of its frame on some processors, so only the
// frames that fit are below the sandbox's pages.
func stackInHigh(v *vector) { v.regs[rsp] = sandboxMid + 64 }

// xrStack adds the ModRM forms of push and pop on a register.
func (g *gen) xrStack(r int) {
	g.add("push rm "+regNames[r], 0, insn{width: 8, noW: true, op: []byte{0xff}, modrm: true, reg: gpr{n: 6}, rm: gpr{n: r}}).also(stackIn)
	g.add("pop rm "+regNames[r], 0, insn{width: 8, noW: true, op: []byte{0x8f}, modrm: true, reg: gpr{n: 0}, rm: gpr{n: r}}).also(stackIn)
}

// stackMemory adds push and pop of memory, addressed without rsp.
func (g *gen) stackMemory() {
	for _, x := range [][2]int{{0xff, 6}, {0x8f, 0}} {
		m, fix := g.mem(8, rsp)
		g.add(fmt.Sprintf("stack %#x memory", x[0]), 0,
			insn{width: 8, noW: true, op: []byte{byte(x[0])}, modrm: true, reg: gpr{n: x[1]}, mem: m}).also(stackIn).also(fix)
	}
}

// stackOnStack adds push and pop of memory addressed by rsp: push uses the old value, pop the new.
func (g *gen) stackOnStack() {
	for _, disp := range []int32{-24, 0, 8, 40} {
		for _, x := range [][2]int{{0xff, 6}, {0x8f, 0}} {
			m := &memop{base: rsp, index: -1, dispBytes: 1, disp: disp}
			g.add(fmt.Sprintf("stack %#x by rsp%+d", x[0], disp), 0,
				insn{width: 8, noW: true, op: []byte{byte(x[0])}, modrm: true, reg: gpr{n: x[1]}, mem: m}).also(stackIn)
		}
	}
}

// popFlags adds popf: user mode may change AC, DF, ID and NT, and neither IF nor IOPL.
func (g *gen) popFlags() {
	aligned := func(v *vector) { v.regs[rsp] = sandboxMid - 16 + 8*v.rng.Uint64N(5) }
	load := func(v *vector) {
		f := v.rng.Uint64()
		copy(v.mem[v.regs[rsp]-sandboxVA:], le64(f&^(flagTF|flagVM|flagRF)&0xffffffff))
	}
	g.raw("popf", 0, 0x9d).also(aligned).also(load).times(6)
	g.raw("popf16", 0, 0x66, 0x9d).also(aligned).also(load).times(4)
	g.raw("popf, pushf", 0, 0x9d, 0x9c).also(aligned).also(load).times(6)
}

func buildStrings(g *gen) {
	for _, op := range []byte{0xa4, 0xa6, 0xaa, 0xac, 0xae} {
		for _, w := range widths {
			for _, pre := range []byte{0, 0xf3, 0xf2} {
				g.stringForm(op, w, pre)
			}
		}
	}
	for _, op := range []byte{0xa4, 0xa6, 0xaa, 0xac, 0xae} {
		for _, w := range widths {
			g.stringAtEnd(op, w, 0xf3)
			g.stringAtEnd(op, w, 0xf2)
		}
	}
	if g.bits == 32 {
		return // fs and gs have a limit: see TestRandomBytesAgainstHost
	}
	// a segment override applies to the source
	for _, op := range []byte{0xa4, 0xa6, 0xac} {
		g.raw(fmt.Sprintf("string %#x fs", op), 0, 0x64, op).also(runs(1)).also(func(v *vector) { v.regs[rsi] -= fsBase })
		g.raw(fmt.Sprintf("rep string %#x gs", op), 0, 0x65, 0xf3, op).also(runs(1)).also(func(v *vector) { v.regs[rsi] -= gsBase })
	}
}

func (g *gen) stringForm(op byte, w int, pre byte) {
	x := insn{width: w, op: opcode(w, op), rm: gpr{n: -1}}
	if pre != 0 {
		x.pre = []byte{pre}
	}
	g.add(fmt.Sprintf("string %#x%d prefix %#x", op, w*8, pre), 0, x).also(runs(w)).times(4)
}

// stringAtEnd repeats a string instruction up to the end of the mapped memory, which is zero there.
func (g *gen) stringAtEnd(op byte, w int, pre byte) {
	x := insn{pre: []byte{pre}, width: w, op: opcode(w, op), rm: gpr{n: -1}}
	g.add(fmt.Sprintf("string %#x%d prefix %#x at the end", op, w*8, pre), 0, x).also(func(v *vector) {
		at := func() uint64 { return sandboxEnd - v.rng.Uint64N(uint64(8*w)) }
		v.regs[rcx], v.regs[rsi], v.regs[rdi], v.regs[rax] = v.rng.Uint64N(12), sandboxMid, at(), v.rng.Uint64N(2)
		if op == 0xa4 || op == 0xac {
			v.regs[rsi], v.regs[rdi] = at(), sandboxMid
		}
		if op == 0xaa {
			v.regs[rax] = 0
		}
	})
}

// runs points rsi and rdi at overlapping parts of the sandbox with DF either way and a count from
// zero that keeps the runs inside.
func runs(w int) func(*vector) {
	return func(v *vector) {
		n := v.rng.Uint64N(uint64(96/w) + 1)
		v.regs[rcx] = n
		lo := sandboxVA + v.rng.Uint64N(64)
		v.regs[rsi], v.regs[rdi] = lo+v.rng.Uint64N(64), lo+v.rng.Uint64N(64)
		if v.rng.IntN(2) == 0 {
			v.flags |= flagDF
			v.regs[rsi] += 100
			v.regs[rdi] += 100
		}
		if v.rng.IntN(3) == 0 {
			v.regs[rax] = 0x0101010101010101 // finds something in memory of few values
		}
	}
}

func buildFlags(g *gen) {
	for _, op := range []byte{0xf5, 0xf8, 0xf9, 0xfc, 0xfd} {
		g.raw(fmt.Sprintf("flag %#x", op), 0, op).times(4)
		g.raw(fmt.Sprintf("add, flag %#x", op), 0, 0x48, 0x01, 0xd8, op).times(4)
	}
	g.raw("lahf", 0, 0x9f).times(4)
	g.raw("add, lahf", 0, 0x01, 0xd8, 0x9f).times(4)
	g.raw("sahf", 0, 0x9e).times(8)
	g.raw("add, sahf", 0, 0x48, 0x01, 0xd3, 0x9e).times(4)
	g.raw("inc keeps carry", 0, 0x01, 0xd8, 0xff, 0xc1).times(4)
	xl := func(v *vector) { v.regs[rbx] = sandboxVA + v.rng.Uint64N(256) - v.regs[rax]&0xff }
	g.raw("xlat", 0, 0xd7).also(xl).times(4)
	if g.bits == 64 {
		g.raw("xlat fs", 0, 0x64, 0xd7).also(xl).also(func(v *vector) { v.regs[rbx] -= fsBase }).times(4)
	}
	for _, code := range codesOf("no operation") {
		g.raw(fmt.Sprintf("no operation % x", code), 0, code...)
	}
}

// buildFaults compares the exceptions that user code meets.
func buildFaults(g *gen) {
	bad := func(r int, to uint64) func(*vector) { return func(v *vector) { v.regs[r] = to } }
	for _, to := range []uint64{0x1000, 0x8000000000000000, 0xffff800000000000, 0x0000800000000000} {
		for _, code := range [][]byte{{0x8b, 0x03}, {0x89, 0x03}, {0x01, 0x03}, {0x0f, 0xb1, 0x0b}, {0x48, 0xff, 0x33}, {0xff, 0x13}, {0xff, 0x23}} {
			g.raw(fmt.Sprintf("% x at %#x", code, to), 0, code...).also(stackIn).also(bad(rbx, to))
		}
		for _, code := range [][]byte{{0x50}, {0x58}, {0xe8, 0, 0, 0, 0}, {0x9c}} {
			g.raw(fmt.Sprintf("% x with rsp %#x", code, to), 0, code...).also(bad(rsp, to))
		}
		g.raw("jmp to nowhere", 0, 0xff, 0xe3).also(bad(rbx, to))
	}
	for _, code := range codesOf("faults") {
		// rsp is nowhere: a host's own stack may be anywhere that a random number of 32 bits points to
		g.raw(fmt.Sprintf("fault % x", code), 0, code...).also(func(v *vector) { v.regs[rdi] = sandboxVA }).also(bad(rsp, 0x1000))
	}
	if g.bits == 64 {
		for _, code := range [][]byte{{0x27}, {0x37}, {0xd4, 10}, {0x9a, 0, 0, 0, 0, 0, 0}} {
			g.raw(fmt.Sprintf("no instruction % x", code), 0, code...)
		}
	}
	// a repeated string operation that cannot begin
	for _, w := range widths {
		x := insn{pre: []byte{0xf3}, width: w, op: opcode(w, 0xaa), rm: gpr{n: -1}}
		g.add("rep stos into nowhere", 0, x).also(func(v *vector) { v.regs[rdi], v.regs[rcx] = 0x1000, 100 })
	}
}
