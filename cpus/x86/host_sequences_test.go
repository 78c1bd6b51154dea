package x86

import "fmt"

// buildSequences adds runs of register instructions without undefined results: flags pass from one to
// the next in every order.
func buildSequences(g *gen) {
	for i := range 150 {
		var xs []insn
		for range 4 + g.rng.IntN(12) {
			xs = append(xs, g.pure())
		}
		g.add(fmt.Sprintf("sequence %d", i), 0, xs...)
	}
}

// pure draws a register instruction that leaves nothing undefined.
func (g *gen) pure() insn {
	w := widths[g.rng.IntN(map[int]int{32: 3, 64: 4}[g.bits])]
	a, b := g.pair(w)
	x := insn{width: w, modrm: true, reg: a, rm: b, bytes: [2]bool{w == 1, w == 1}}
	cc := byte(g.rng.IntN(16))
	switch g.rng.IntN(10) {
	case 0, 1, 2: // add, adc, sbb, sub, cmp
		x.op = opcode(w, []byte{0x00, 0x10, 0x18, 0x28, 0x38}[g.rng.IntN(5)])
	case 3: // inc, dec
		x.op, x.reg = opcode(w, 0xfe), gpr{n: g.rng.IntN(2)}
	case 4: // not, neg
		x.op, x.reg = opcode(w, 0xf6), gpr{n: 2 + g.rng.IntN(2)}
	case 5: // rol, ror, rcl, rcr by one
		x.op, x.reg = opcode(w, 0xd0), gpr{n: g.rng.IntN(4)}
	case 6: // setcc
		x = insn{width: 1, op: []byte{0x0f, 0x90 | cc}, modrm: true, rm: g.reg(1, true), bytes: [2]bool{false, true}}
	case 7: // cmov
		x = insn{width: max(w, 2), op: []byte{0x0f, 0x40 | cc}, modrm: true, reg: g.reg(8, false), rm: g.reg(8, false)}
	case 8: // xadd, cmpxchg
		x.op = opcode(w, 0x0f, []byte{0xc0, 0xb0}[g.rng.IntN(2)])
	default: // cmc, clc, stc, sahf, lahf
		x = insn{width: 4, op: []byte{[]byte{0xf5, 0xf8, 0xf9, 0x9e, 0x9f}[g.rng.IntN(5)]}, rm: gpr{n: -1}}
	}
	return x
}
