package x86

import (
	"fmt"
	"slices"
)

// Selectors that user mode may ask about: what Linux has at them, and none.
var selectors = []uint16{0, 3, userDS, userDS &^ 3, userCS, userCS32, kernelCS, kernelDS | 3, 0x7ffb, 0xfffc}

func buildSelectors(g *gen) {
	selectors := selectors
	if g.wide {
		selectors = slices.DeleteFunc(slices.Clone(selectors), func(s uint16) bool { return s == userCS32 })
	}
	for _, op := range []byte{0x02, 0x03} { // lar, lsl
		for _, w := range []int{2, 4, 8} {
			for _, sel := range selectors {
				a, b := g.reg(w, false), g.reg(w, false)
				g.add(fmt.Sprintf("query %#x of %#x", op, sel), 0, insn{width: w, op: []byte{0x0f, op}, modrm: true, reg: a, rm: b}).
					also(func(v *vector) { v.regs[b.n] = v.regs[b.n]&^0xffff | uint64(sel) })
			}
			m, fix := g.mem(2)
			g.add(fmt.Sprintf("query %#x memory", op), 0, insn{width: w, op: []byte{0x0f, op}, modrm: true, reg: g.reg(w, false), mem: m}).
				also(fix).also(func(v *vector) { copy16(v, m, selectors[v.rng.IntN(len(selectors))]) }).times(4)
		}
	}
	for _, ext := range []int{4, 5} { // verr, verw
		for _, sel := range selectors {
			r := g.reg(4, false)
			g.add(fmt.Sprintf("verify /%d of %#x", ext, sel), 0, insn{width: 4, op: []byte{0x0f, 0x00}, modrm: true, reg: gpr{n: ext}, rm: r}).
				also(func(v *vector) { v.regs[r.n] = uint64(sel) })
		}
		m, fix := g.mem(2)
		g.add("verify memory", 0, insn{width: 4, op: []byte{0x0f, 0x00}, modrm: true, reg: gpr{n: ext}, mem: m}).
			also(fix).also(func(v *vector) { copy16(v, m, selectors[v.rng.IntN(len(selectors))]) }).times(4)
	}
	g.pointers()
	for _, x := range [][2]int{{segES, 0}, {segDS, 0}, {segES, 3}, {segDS, 2}, {segSS, 0}, {segCS, userCS}} {
		r := g.reg(4, false)
		g.add(fmt.Sprintf("mov %#x to segment %d", x[1], x[0]), 0, insn{width: 4, op: []byte{0x8e}, modrm: true, reg: gpr{n: x[0]}, rm: r},
			insn{width: 4, op: []byte{0x8e}, modrm: true, reg: gpr{n: x[0]}, rm: gpr{n: rdx}}).
			also(func(v *vector) {
				v.regs[rdx] = userDS
				if r.n != rdx {
					v.regs[r.n] = uint64(x[1])
				}
			})
	}
	if g.bits == 32 {
		g.nullSegments()
		each(4, func() { g.rr("arpl", 0, 4, []byte{0x63}, nil).times(4) })
		each(4, func() { g.rm("arpl", 0, 4, []byte{0x63}, nil, nil).times(4) })
		g.legacy("salc", 0, 0xd6).times(4)
		g.legacy("add by 82", 0, 0x82, 0xc1, 0x81)
		g.legacy("cmp by 82", 0, 0x82, 0x3f, 0x81).also(func(v *vector) { v.regs[rdi] = sandboxVA + 7 })
	}
}

// pointers adds loads of far pointers, to selectors that exist and to one that does not.
func (g *gen) pointers() {
	ops := [][]byte{{0x0f, 0xb2}}
	if g.bits == 32 {
		ops = append(ops, []byte{0xc5}, []byte{0xc4}, []byte{0x0f, 0xb4}, []byte{0x0f, 0xb5})
	}
	for _, op := range ops {
		for _, w := range []int{2, 4, 8} {
			for _, sel := range []uint16{userDS, 0xffff} {
				m, fix := g.mem(w+2, rsp)
				if m.seg != 0 {
					m.seg = 0
					fix = g.point(m, w+2)
				}
				want := sel
				if op[len(op)-1] == 0xb4 && sel == userDS {
					want = userFS
				}
				if op[len(op)-1] == 0xb5 && sel == userDS {
					want = userGS
				}
				g.add(fmt.Sprintf("far pointer % x %d to %#x", op, w, want), 0, insn{width: w, op: op, modrm: true, reg: g.reg(w, false), mem: m}).
					also(fix).also(func(v *vector) { copy(v.mem[m.address(v)+uint64(w)-sandboxVA:], le16(want)) })
			}
		}
	}
}

// nullSegments accesses memory through segments that are null, and loads them again.
func (g *gen) nullSegments() {
	at := func(v *vector) {
		stackIn(v)
		v.regs[rax], v.regs[rbx], v.regs[rdx], v.regs[rbp] = 0, sandboxVA+8, userDS, sandboxMid
		v.regs[rsi], v.regs[rdi] = sandboxVA, sandboxVA+40
	}
	for i, null := range [][]byte{{0x8e, 0xd8}, {0x8e, 0xc0}} {
		for _, code := range [][]byte{
			{0x8b, 0x0b}, {0x89, 0x0b}, {0x8b, 0x4d, 0}, {0x50}, {0x8d, 0x0b}, {0xa4}, {0xaa}, {0xac}, {0x2e, 0x8b, 0x0b}, {0x0f, 0x1f, 0x03},
		} {
			if code[0] == 0xa4 && i == 0 {
				continue // either operand may be looked at first
			}
			f := g.legacy(fmt.Sprintf("null segment %d, % x", i, code), 0, append(append(append([]byte{}, null...), code...), null[0], null[1]|2)...)
			f.also(at)
		}
		g.legacy("segments again", 0, null[0], null[1]|2).also(at)
	}
}

// buildPrefixes adds prefixes that do nothing, in places and numbers that an assembler would not choose, and
// operands with addresses shorter than the mode's.
func buildPrefixes(g *gen) {
	for _, code := range codesOf("prefixes") {
		g.raw(fmt.Sprintf("prefixes % x", code), 0, code...)
	}
	for _, pre := range [][]byte{{0xf3, 0xf2}, {0xf2, 0xf3}, {0xf3, 0x66, 0xf2}} {
		g.raw(fmt.Sprintf("scas % x", pre), 0, append(append([]byte{}, pre...), 0xae)...).also(runs(1)).times(4)
	}
	g.plainStores()
	g.shortAddresses()
	g.shortFrames()
}

// plainStores adds prefixes that movnti may not have.
func (g *gen) plainStores() {
	for _, pre := range []byte{0x66, 0xf2, 0xf3} {
		g.raw("movnti with a prefix", 0, pre, 0x0f, 0xc3, 0x07).also(func(v *vector) { v.regs[rdi] = sandboxVA })
	}
}

// shortAddresses adds the prefix 67 to operands, strings and absolute addresses.
func (g *gen) shortAddresses() {
	if g.bits == 32 {
		return // 16-bit addresses reach no page of a program: see TestShortAddresses
	}
	dirty := func(v *vector) {
		for i := range v.regs {
			if v.regs[i]>>32 == 0 && i != rsp {
				v.regs[i] |= v.rng.Uint64() << 32
			}
		}
	}
	for _, w := range widths {
		each(2*shapes, func() {
			m, fix := g.mem(w, rsp)
			x := insn{pre: []byte{0x67}, width: w, op: opcode(w, []byte{0x00, 0x88, 0x8a, 0x02}[g.rng.IntN(4)]), modrm: true, reg: gpr{n: g.rng.IntN(4)}, mem: m}
			g.add(fmt.Sprintf("short address %d", w*8), 0, x).also(fix).also(dirty)
		})
		each(4, func() {
			m, fix := g.mem(w, rsp)
			g.add("lea with a short address", 0, insn{pre: []byte{0x67}, width: 8, op: []byte{0x8d}, modrm: true, reg: g.reg(8, false), mem: m}).also(fix).also(dirty)
		})
		for _, op := range []byte{0xa4, 0xa6, 0xaa, 0xac, 0xae} {
			for _, pre := range [][]byte{{0x67}, {0x67, 0xf3}} {
				g.add(fmt.Sprintf("short string %#x%d", op, w*8), 0, insn{pre: pre, width: w, op: opcode(w, op), rm: gpr{n: -1}}).
					also(runs(w)).also(func(v *vector) {
					v.regs[rcx] = max(v.regs[rcx], 1) // what a count of zero does to the upper halves differs
					for _, r := range []int{rsi, rdi, rcx} {
						v.regs[r] |= v.rng.Uint64() << 32
					}
				})
			}
		}
		for _, op := range []byte{0xa0, 0xa2} {
			at := sandboxVA + g.rng.Uint64N(sandboxSize-8)
			g.add("short absolute", 0, insn{pre: []byte{0x67}, width: w, op: opcode(w, op), rm: gpr{n: -1}, imm: le32(uint32(at))})
		}
	}
	g.raw("short xlat", 0, 0x67, 0xd7).also(func(v *vector) { v.regs[rbx] = 0x5500000000 | (sandboxVA + 100 - v.regs[rax]&0xff) })
}

// shortFrames adds enter and leave of 16 bits and nested frames.
func (g *gen) shortFrames() {
	frame := func(v *vector) {
		v.regs[rsp], v.regs[rbp] = sandboxMid+64, sandboxMid+v.rng.Uint64N(100)
	}
	for _, pre := range [][]byte{nil, {0x66}} {
		for _, level := range []byte{0, 1, 2, 3, 8, 33} {
			g.raw(fmt.Sprintf("enter level %d % x", level, pre), 0, append(append([]byte{}, pre...), 0xc8, 16, 0, level)...).also(frame)
		}
		g.raw("leave", 0, append(append([]byte{}, pre...), 0xc9)...).also(frame)
	}
	g.raw("enter beyond the stack", 0, 0xc8, 0, 0x80, 0).also(func(v *vector) { v.regs[rsp] = hostCurrent + 0x4000 })
}
