package x86

import "fmt"

// userCS is the code segment of user programs on an x86-64 kernel, by mode.
func (g *gen) userCS() uint64 {
	if g.bits == 32 {
		return userCS32
	}
	return userCS
}

// shortStack adds push and pop of 16 bits.
func (g *gen) shortStack() {
	for r := range 16 {
		g.add("push 16 "+regNames[r], 0, insn{width: 2, op: []byte{0x50}, rm: gpr{n: r}}).also(stackIn)
		g.add("pop 16 "+regNames[r], 0, insn{width: 2, op: []byte{0x58}, rm: gpr{n: r}}).also(stackIn)
	}
	g.raw("push 16 imm8", 0, 0x66, 0x6a, 0x80).also(stackIn)
	g.raw("push imm16", 0, 0x66, 0x68, 0x78, 0x96).also(stackIn)
	g.raw("push 16 fs", 0, 0x66, 0x0f, 0xa0).also(stackIn)
	each(shapes, func() {
		for _, x := range [][2]int{{0xff, 6}, {0x8f, 0}} {
			m, fix := g.mem(2, rsp)
			g.add(fmt.Sprintf("stack 16 %#x memory", x[0]), 0,
				insn{width: 2, op: []byte{byte(x[0])}, modrm: true, reg: gpr{n: x[1]}, mem: m}).also(stackIn).also(fix)
		}
	})
}

// buildLegacy adds what exists in 32-bit mode only.
func buildLegacy(g *gen) {
	if g.bits != 32 {
		return
	}
	for r := range byte(8) {
		g.legacy("inc short", 0, 0x40|r).times(2)
		g.legacy("dec short", 0, 0x48|r).times(2)
		g.legacy("inc short 16", 0, 0x66, 0x40|r)
	}
	for _, pre := range [][]byte{nil, {0x66}} {
		g.legacy("pusha", 0, append(pre, 0x60)...).also(stackIn).times(2)
		g.legacy("popa", 0, append(pre, 0x61)...).also(stackIn).times(2)
	}
	g.legacySegments()
	g.decimal()
	each(2*shapes, func() { g.rm("bound", 0, 2+2*g.rng.IntN(2), []byte{0x62}, nil, nil) })
	each(8, func() { g.inBounds(2 + 2*g.rng.IntN(2)) })
	g.legacy("into", 0, 0xce).times(4)
	for _, op := range []byte{0x9a, 0xea} { // lcall, ljmp
		f := g.legacy("far", 0, op, 0, 0, 0, 0, userCS32, 0).also(stackIn)
		copy(f.code[1:], le32(uint32(f.at)+7))
		g.legacy("far to data", 0, op, 0, 0, 0, 0, userDS, 0).also(stackIn)
	}
}

// legacy is raw for codes that are REX prefixes in 64-bit mode.
func (g *gen) legacy(name string, undef uint64, code ...byte) *form {
	return g.append(&form{name: fmt.Sprintf("%s % x", name, code), at: g.next, undef: undef, n: g.scale, code: code})
}

// legacySegments adds push and pop of the first four segment registers.
func (g *gen) legacySegments() {
	for _, op := range []byte{0x06, 0x0e, 0x16, 0x1e} {
		g.legacy("push segment", 0, op).also(stackIn).also(clearWord)
		g.legacy("push segment 16", 0, 0x66, op).also(stackIn)
	}
	selector := func(v *vector) {
		stackIn(v)
		copy(v.mem[v.regs[rsp]-sandboxVA:], le16(userDS))
	}
	for _, op := range []byte{0x07, 0x17, 0x1f} {
		g.legacy("pop segment", 0, op).also(selector)
		g.legacy("pop segment 16", 0, 0x66, op).also(selector)
	}
}

// decimal adds the adjustments, which look at the low digits and at AF and CF.
func (g *gen) decimal() {
	for _, x := range []struct {
		code  []byte
		undef uint64
	}{
		{[]byte{0x37}, flagOF | flagSF | flagZF | flagPF},
		{[]byte{0x3f}, flagOF | flagSF | flagZF | flagPF},
		{[]byte{0x27}, flagOF},
		{[]byte{0x2f}, flagOF},
		{[]byte{0xd4, 10}, flagOF | flagAF | flagCF},
		{[]byte{0xd4, 7}, flagOF | flagAF | flagCF},
		{[]byte{0xd4, 0}, arith},
		{[]byte{0xd5, 10}, flagOF | flagAF | flagCF},
		{[]byte{0xd5, 200}, flagOF | flagAF | flagCF},
	} {
		g.legacy("decimal", x.undef, x.code...).also(func(v *vector) { v.regs[rax] = v.rng.Uint64() }).times(12)
	}
}

// inBounds adds bound with limits that a value may be within.
func (g *gen) inBounds(w int) {
	m, fix := g.mem(2*w, rcx)
	g.add("bound near", 0, insn{width: w, op: []byte{0x62}, modrm: true, reg: gpr{n: rcx}, mem: m}).also(fix).also(func(v *vector) {
		at := v.mem[m.address(v)-sandboxVA:]
		v.regs[rcx] = uint64(v.rng.Int64N(7) - 3)
		copy(at, le64(uint64(v.rng.Int64N(7) - 5))[:w])
		copy(at[w:], le64(uint64(v.rng.Int64N(7) - 1))[:w])
	})
}
