package x86

import "fmt"

var widths = []int{1, 2, 4, 8}

// Undefined flags by group (SDM vol. 2, the operations' own pages).
const (
	undefLogic = flagAF
	undefMul   = flagSF | flagZF | flagAF | flagPF
	undefBit   = flagOF | flagSF | flagAF | flagPF
	undefScan  = flagCF | flagOF | flagSF | flagAF | flagPF
)

// named is an opcode extension and its operation.
type named struct {
	ext  int
	name string
}

var lockPrefix = []byte{0xf0}

// immediate draws n bytes.
func (g *gen) immediate(n int) []byte { return le64(value(g.rng))[:n] }

// immOf is the size of a full immediate for a width.
func immOf(width int) int { return min(width, 4) }

// opcode is the byte form for width 1 and the wide one behind it otherwise.
func opcode(width int, op ...byte) []byte {
	op = append([]byte{}, op...)
	if width > 1 {
		op[len(op)-1]++
	}
	return op
}

// rr adds a form with two registers.
func (g *gen) rr(name string, undef uint64, width int, op, imm []byte) *form {
	a, b := g.pair(width)
	return g.add(fmt.Sprintf("%s%d r,r", name, width*8), undef,
		insn{width: width, op: op, modrm: true, reg: a, rm: b, imm: imm, bytes: [2]bool{width == 1, width == 1}})
}

// same adds a form with one register in both places.
func (g *gen) same(name string, undef uint64, width int, op []byte) *form {
	a := g.reg(width, true)
	return g.add(fmt.Sprintf("%s%d same register", name, width*8), undef,
		insn{width: width, op: op, modrm: true, reg: a, rm: a, bytes: [2]bool{width == 1, width == 1}})
}

// rm adds a form with a register and memory; the direction is the opcode's.
func (g *gen) rm(name string, undef uint64, width int, op, imm, pre []byte) *form {
	m, fix := g.mem(width)
	x := insn{pre: pre, width: width, op: op, modrm: true, reg: gpr{n: g.rng.IntN(g.regs)}, mem: m, imm: imm, bytes: [2]bool{width == 1}}
	if width == 1 && g.rng.IntN(3) == 0 {
		if h := (gpr{n: 4 + g.rng.IntN(4), hi: true}); m.base < 8 && m.index < 8 {
			x.reg = h
		}
	}
	return g.add(fmt.Sprintf("%s%d r,m", name, width*8), undef, x).also(fix)
}

// xr and xm add forms of a group: the extension is in the reg field.
func (g *gen) xr(name string, undef uint64, width int, ext int, op, imm []byte) *form {
	return g.add(fmt.Sprintf("%s%d r", name, width*8), undef,
		insn{width: width, op: op, modrm: true, reg: gpr{n: ext}, rm: g.reg(width, true), imm: imm, bytes: [2]bool{false, width == 1}})
}

func (g *gen) xm(name string, undef uint64, width int, ext int, op, imm, pre []byte) *form {
	m, fix := g.mem(width)
	return g.add(fmt.Sprintf("%s%d m", name, width*8), undef,
		insn{pre: pre, width: width, op: op, modrm: true, reg: gpr{n: ext}, mem: m, imm: imm}).also(fix)
}

// each repeats a form n times, so that registers and shapes of addresses vary.
func each(n int, f func()) {
	for range n {
		f()
	}
}

func buildArithmetic(g *gen) {
	for ext, name := range []string{"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"} {
		undef := uint64(0)
		if name == "or" || name == "and" || name == "xor" {
			undef = undefLogic
		}
		for _, w := range widths {
			g.aluForms(name, undef, w, ext)
		}
	}
	for _, w := range widths {
		each(3, func() { g.rr("test", undefLogic, w, opcode(w, 0x84), nil) })
		each(3, func() { g.rm("test", undefLogic, w, opcode(w, 0x84), nil, nil) })
		g.xr("test imm", undefLogic, w, 0, opcode(w, 0xf6), g.immediate(immOf(w)))
		g.xm("test imm", undefLogic, w, 0, opcode(w, 0xf6), g.immediate(immOf(w)), nil)
		g.add("test a,imm", undefLogic, insn{width: w, op: opcode(w, 0xa8), rm: gpr{n: -1}, imm: g.immediate(immOf(w))})
		for _, x := range []named{{0, "inc"}, {1, "dec"}} {
			ext, name := x.ext, x.name
			g.oneOperand(name, w, ext, 0xfe)
		}
		g.oneOperand("not", w, 2, 0xf6)
		g.oneOperand("neg", w, 3, 0xf6)
	}
}

// aluForms adds every encoding of one of the eight basic operations.
func (g *gen) aluForms(name string, undef uint64, w, ext int) {
	base := byte(ext << 3)
	each(3, func() { g.rr(name+" rm,r", undef, w, opcode(w, base), nil) })
	g.rr(name+" r,rm", undef, w, opcode(w, base+2), nil)
	g.same(name, undef, w, opcode(w, base))
	each(4, func() { g.rm(name+" to memory", undef, w, opcode(w, base), nil, nil) })
	each(4, func() { g.rm(name+" from memory", undef, w, opcode(w, base+2), nil, nil) })
	g.add(name+" a,imm", undef, insn{width: w, op: opcode(w, base+4), rm: gpr{n: -1}, imm: g.immediate(immOf(w))})
	each(2, func() { g.xr(name+" imm", undef, w, ext, opcode(w, 0x80), g.immediate(immOf(w))) })
	each(2, func() { g.xm(name+" imm", undef, w, ext, opcode(w, 0x80), g.immediate(immOf(w)), nil) })
	if w > 1 {
		g.xr(name+" imm8", undef, w, ext, []byte{0x83}, g.immediate(1))
		g.xm(name+" imm8", undef, w, ext, []byte{0x83}, g.immediate(1), nil)
	}
	if name != "cmp" {
		g.rm("lock "+name, undef, w, opcode(w, base), nil, lockPrefix)
		g.xm("lock imm "+name, undef, w, ext, opcode(w, 0x80), g.immediate(immOf(w)), lockPrefix)
	}
}

func (g *gen) oneOperand(name string, w, ext int, op byte) {
	each(3, func() { g.xr(name, 0, w, ext, opcode(w, op), nil) })
	each(3, func() { g.xm(name, 0, w, ext, opcode(w, op), nil, nil) })
	g.xm("lock "+name, 0, w, ext, opcode(w, op), nil, lockPrefix)
}

func buildMoves(g *gen) {
	for _, w := range widths {
		each(6, func() { g.rr("mov", 0, w, opcode(w, 0x88), nil) })
		g.rr("mov r,rm", 0, w, opcode(w, 0x8a), nil)
		each(shapes, func() { g.rm("mov store", 0, w, opcode(w, 0x88), nil, nil) })
		each(shapes, func() { g.rm("mov load", 0, w, opcode(w, 0x8a), nil, nil) })
		g.xr("mov imm", 0, w, 0, opcode(w, 0xc6), g.immediate(immOf(w)))
		each(3, func() { g.xm("mov imm", 0, w, 0, opcode(w, 0xc6), g.immediate(immOf(w)), nil) })
		g.movShort(w)
		g.absolute(w)
	}
	for _, w := range []int{4, 8} {
		g.rm("movnti", 0, w, []byte{0x0f, 0xc3}, nil, nil)
	}
	g.extensions()
	for _, w := range []int{2, 4, 8} {
		each(2*shapes, func() { g.lea(w) })
		for _, op := range []byte{0x98, 0x99} {
			g.add(fmt.Sprintf("%#x width %d", op, w), 0, insn{width: w, op: []byte{op}, rm: gpr{n: -1}})
		}
		for sreg := range 6 {
			g.xr(fmt.Sprintf("mov from segment %d", sreg), 0, w, sreg, []byte{0x8c}, nil)
		}
	}
	for _, sreg := range []int{0, 2, 3} {
		g.xm("mov from segment", 0, 4, sreg, []byte{0x8c}, nil, nil)
		r := g.reg(4, false)
		g.add("mov to segment", 0, insn{width: 4, op: []byte{0x8e}, modrm: true, reg: gpr{n: sreg}, rm: r}).
			also(func(v *vector) { v.regs[r.n] = v.regs[r.n]&^0xffff | userDS })
		m, fix := g.mem(2)
		g.add("mov memory to segment", 0, insn{width: 4, op: []byte{0x8e}, modrm: true, reg: gpr{n: sreg}, mem: m}).also(fix).
			also(func(x *vector) { copy16(x, m, userDS) })
	}
}

// address is where m points in v.
func (m *memop) address(v *vector) uint64 {
	a := uint64(int64(m.disp)) + map[byte]uint64{0x64: fsBase, 0x65: gsBase}[m.seg]
	if m.base >= 0 {
		a += v.regs[m.base]
	}
	if m.index >= 0 {
		a += v.regs[m.index] << m.scale
	}
	return a & v.mask
}

// copy16 writes a word at the memory operand.
func copy16(v *vector, m *memop, x uint16) { copy(v.mem[m.address(v)-sandboxVA:], le16(x)) }

// movShort adds mov to a register named in the opcode, with full immediates.
func (g *gen) movShort(w int) {
	op := byte(0xb8)
	if w == 1 {
		op = 0xb0
	}
	each(3, func() {
		g.add(fmt.Sprintf("mov%d short imm", w*8), 0, insn{width: w, op: []byte{op}, rm: g.reg(w, true), imm: g.immediate(w), bytes: [2]bool{false, w == 1}})
	})
}

// absolute adds the moves between the accumulator and an address of the mode's width.
func (g *gen) absolute(w int) {
	le := func(v uint64) []byte { return le64(v)[:g.bits/8] }
	for _, op := range []byte{0xa0, 0xa2} {
		at := sandboxVA + g.rng.Uint64N(sandboxSize-8)
		g.add(fmt.Sprintf("mov%d absolute %#x", w*8, op), 0, insn{width: w, op: opcode(w, op), rm: gpr{n: -1}, imm: le(at)})
		g.add(fmt.Sprintf("mov%d absolute fs %#x", w*8, op), 0, insn{pre: []byte{0x64}, width: w, op: opcode(w, op), rm: gpr{n: -1}, imm: le(at - fsBase)})
	}
}

// extensions adds movzx, movsx and movsxd.
func (g *gen) extensions() {
	for _, w := range []int{2, 4, 8} {
		for _, op := range []byte{0xb6, 0xb7, 0xbe, 0xbf} {
			src := 1 + int(op&1)
			name := fmt.Sprintf("movx %#x", op)
			each(3, func() {
				g.add(name+" r,r", 0, insn{width: w, op: []byte{0x0f, op}, modrm: true, reg: g.reg(w, false), rm: g.reg(src, false), bytes: [2]bool{false, src == 1}})
			})
			g.add(name+" r,high", 0, insn{width: min(w, 4), op: []byte{0x0f, op}, modrm: true, reg: gpr{n: g.rng.IntN(8)}, rm: gpr{n: 4 + g.rng.IntN(4), hi: true}})
			each(3, func() { g.rm(name, 0, w, []byte{0x0f, op}, nil, nil) })
		}
		if g.bits == 32 {
			continue // another instruction there
		}
		each(2, func() { g.rr("movsxd", 0, w, []byte{0x63}, nil) })
		each(2, func() { g.rm("movsxd", 0, w, []byte{0x63}, nil, nil) })
	}
}

// lea adds lea with any registers: nothing is accessed.
func (g *gen) lea(w int) {
	m, _ := g.mem(1)
	if m.base < 0 && m.index < 0 && !m.rip {
		m.seg = 0x64 // has no effect
	}
	x := insn{width: w, op: []byte{0x8d}, modrm: true, reg: g.reg(w, false), mem: m}
	if w < 8 && g.bits == 64 && g.rng.IntN(3) == 0 && !m.rip {
		x.pre = []byte{0x67}
	}
	g.add(fmt.Sprintf("lea%d", w*8), 0, x)
}
