package x86

import (
	"fmt"
	"math"
)

// vectorForm adds code between loads of xmm0 and xmm1 and a store of xmm0, which lie at rdi.
func (g *gen) vectorForm(name string, code ...byte) *form {
	all := append([]byte{0x0f, 0x10, 0x07, 0x0f, 0x10, 0x4f, 0x10}, code...)
	f := g.legacy(name, 0, append(all, 0x0f, 0x11, 0x07)...)
	return f.also(func(v *vector) {
		v.regs[rdi] = sandboxVA + 16*v.rng.Uint64N(12)
		if v.rng.IntN(2) == 0 {
			at := v.mem[v.regs[rdi]-sandboxVA:]
			for i := range 32 {
				at[i] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(v.rng.Uint32())}[v.rng.IntN(6)]
			}
		}
	})
}

func buildVectors(g *gen) {
	packed := []byte{
		0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x74, 0x75, 0x76,
		0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5,
		0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe,
		0x54, 0x55, 0x56, 0x57, 0x14, 0x15,
	}
	for _, op := range packed {
		g.vectorForm(fmt.Sprintf("packed %#x", op), 0x66, 0x0f, op, 0xc1).times(3)
		g.vectorForm(fmt.Sprintf("packed %#x memory", op), 0x66, 0x0f, op, 0x47, 0x10)
	}
	for _, op := range []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0x1c, 0x1d, 0x1e} {
		g.vectorForm(fmt.Sprintf("packed 38 %#x", op), 0x66, 0x0f, 0x38, op, 0xc1).times(6)
		g.vectorForm(fmt.Sprintf("packed 38 %#x memory", op), 0x66, 0x0f, 0x38, op, 0x47, 0x10)
	}
	for _, by := range []byte{0, 1, 7, 8, 15, 16, 17, 31, 32, 200} {
		g.vectorForm(fmt.Sprintf("palignr by %d", by), 0x66, 0x0f, 0x3a, 0x0f, 0xc1, by)
	}
	small := func(v *vector) { copy(v.mem[v.regs[rdi]+16-sandboxVA:], le64(v.rng.Uint64N(70))) }
	for _, op := range []byte{0xd1, 0xd2, 0xd3, 0xe1, 0xe2, 0xf1, 0xf2, 0xf3} {
		g.vectorForm(fmt.Sprintf("shift %#x", op), 0x66, 0x0f, op, 0xc1).also(small).times(4)
	}
	for _, op := range []byte{0x54, 0x55, 0x56, 0x57, 0x14, 0x15, 0x28, 0x10, 0x12, 0x16} {
		g.vectorForm(fmt.Sprintf("single %#x", op), 0x0f, op, 0xc1).times(2)
	}
	for _, x := range [][3]byte{{0x71, 2, 16}, {0x71, 4, 16}, {0x71, 6, 16}, {0x72, 2, 32}, {0x72, 4, 32}, {0x72, 6, 32}, {0x73, 2, 64}, {0x73, 6, 64}, {0x73, 3, 16}, {0x73, 7, 16}} {
		for _, by := range []byte{0, 1, 7, 8, 9, x[2] - 1, x[2], 200} {
			g.vectorForm(fmt.Sprintf("shift %#x /%d by %d", x[0], x[1], by), 0x66, 0x0f, x[0], 0xc0|x[1]<<3, by)
		}
	}
	for range 4 {
		imm := byte(g.rng.Uint32())
		for _, pre := range []byte{0x66, 0xf2, 0xf3} {
			g.vectorForm("shuffle", pre, 0x0f, 0x70, 0xc1, imm)
			g.vectorForm("shuffle memory", pre, 0x0f, 0x70, 0x47, 0x10, imm)
		}
		g.vectorForm("shufps", 0x0f, 0xc6, 0xc1, imm)
		g.vectorForm("shufpd", 0x66, 0x0f, 0xc6, 0xc1, imm)
		g.vectorForm("pinsrw", 0x66, 0x0f, 0xc4, 0xc0, imm)
		g.vectorForm("pinsrw memory", 0x66, 0x0f, 0xc4, 0x47, 0x12, imm)
		g.vectorForm("pextrw", 0x66, 0x0f, 0xc5, 0xd1, imm)
	}
	g.vectorMoves()
	g.floatingControl()
	g.floatingNumbers()
}

// vectorMoves adds the moves: loads to xmm0, stores of it and of xmm1, and those between kinds of registers.
func (g *gen) vectorMoves() {
	for _, code := range codesOf("vector moves") {
		name := fmt.Sprintf("vector move % x", code)
		g.vectorForm(name+" memory", append(append([]byte{}, code...), 0x47, 0x10)...).times(2)
		g.vectorForm(name+" misaligned", append(append([]byte{}, code...), 0x47, 0x19)...)
		switch code[len(code)-1] {
		case 0x13, 0x17, 0xe7, 0x2b, 0x7e, 0xd6, 0xf0:
		case 0x12, 0x16:
			if code[0] != 0x66 {
				g.vectorForm(name, append(append([]byte{}, code...), 0xc1)...)
			}
		default:
			g.vectorForm(name, append(append([]byte{}, code...), 0xc1)...).times(2)
		}
	}
	g.vectorForm("maskmovdqu", 0x66, 0x0f, 0xf7, 0xc1).times(4)
	g.vectorForm("movq", 0xf3, 0x0f, 0x7e, 0xc1)
	g.vectorForm("movq store form", 0x66, 0x0f, 0xd6, 0xc8)
	g.vectorForm("movd to register", 0x66, 0x0f, 0x7e, 0xc2)
	for _, code := range [][]byte{{0x66, 0x0f, 0xd7, 0xd1}, {0x0f, 0x50, 0xd1}, {0x66, 0x0f, 0x50, 0xd1}} {
		g.vectorForm(fmt.Sprintf("mask % x", code), code...).times(3)
	}
	if g.bits == 64 {
		g.vectorForm("movq from register", 0x66, 0x48, 0x0f, 0x6e, 0xc2)
		g.vectorForm("movq to register", 0x66, 0x48, 0x0f, 0x7e, 0xca)
		g.vectorForm("high registers", 0x44, 0x0f, 0x28, 0xc9, 0x66, 0x41, 0x0f, 0xfe, 0xc1)
	}
}

// floatingControl adds what changes and stores control words.
func (g *gen) floatingControl() {
	at := func(v *vector) { v.regs[rdi] = sandboxVA + 16 }
	g.raw("fninit, fnstcw", 0, 0xdb, 0xe3, 0xd9, 0x3f).also(at)
	g.raw("fninit, fldcw, fnstcw", 0, 0xdb, 0xe3, 0xd9, 0x2f, 0xd9, 0x3f, 0xdb, 0xe3).also(at).times(4)
	g.raw("fninit, fnclex, fnstsw", 0, 0xdb, 0xe3, 0xdb, 0xe2, 0xdd, 0x3f, 0xdf, 0xe0, 0x9b).also(at)
	g.raw("ldmxcsr, stmxcsr", 0, 0x0f, 0xae, 0x17, 0x0f, 0xae, 0x5f, 4).also(at).also(func(v *vector) {
		copy(v.mem[16:], le32(v.rng.Uint32()&0xe03f|0x1f80))
	}).times(4)
	g.raw("ldmxcsr of a reserved bit", 0, 0x0f, 0xae, 0x17).also(at).also(func(v *vector) { copy(v.mem[16:], le32(0x11f80)) })
	g.raw("clflush", 0, 0x0f, 0xae, 0x3f).also(at)
	g.raw("clflush of nothing", 0, 0x0f, 0xae, 0x3f).also(func(v *vector) { v.regs[rdi] = 0x1000 })
	for _, code := range [][]byte{{0xe4, 0x60}, {0xed}, {0xef}, {0xe6, 0x80}, {0x6c}, {0x6f}, {0x66, 0xed}} {
		g.raw(fmt.Sprintf("port % x", code), 0, code...).also(at).also(func(v *vector) { v.regs[rsi] = v.regs[rdi] })
	}
}

// floatingNumbers adds arithmetic of x87 between loads of two numbers and a store of an integer of 64 bits. The status
// behind it goes to ax.
func (g *gen) floatingNumbers() {
	number := func(v *vector) []byte {
		x := math.Ldexp(1+v.rng.Float64(), v.rng.IntN(30)-2)
		switch v.rng.IntN(8) {
		case 0:
			x = math.Ceil(x)
		case 1:
			x = float64(1+v.rng.IntN(9)) / 2
		}
		if v.rng.IntN(2) == 0 {
			x = -x
		}
		return le64(math.Float64bits(x))
	}
	state := func(v *vector) {
		v.regs[rdi] = sandboxVA
		copy(v.mem[:], number(v))
		copy(v.mem[8:], number(v))
		copy(v.mem[16:], le32(math.Float32bits(float32(1+v.rng.Float64()))))
	}
	around := func(name string, code ...byte) {
		all := append([]byte{0xdb, 0xe3, 0xdd, 0x47, 8, 0xdd, 0x07}, code...) // fninit; fldl 8(%rdi); fldl (%rdi)
		all = append(all, 0xdf, 0xe0, 0xdf, 0x7f, 24, 0x9b, 0xdd, 0x7f, 40, 0xdb, 0xe3)
		g.raw(name, 0, all...).also(state).times(12)
	}
	for reg := range byte(8) { // /0 add, /1 mul, /4 sub, /5 subr, /6 div, /7 divr
		if reg == 2 || reg == 3 {
			continue
		}
		m := 0xc0 | reg<<3
		around(fmt.Sprintf("x87 /%d double", reg), 0xdc, m&0x38|0x47, 8)
		around(fmt.Sprintf("x87 /%d single", reg), 0xd8, m&0x38|0x47, 16)
		around(fmt.Sprintf("x87 /%d to the first", reg), 0xd8, m|1)
		around(fmt.Sprintf("x87 /%d to the second", reg), 0xdc, m|1)
		around(fmt.Sprintf("x87 /%d and pop", reg), 0xde, m|1)
	}
	around("x87 single", 0xd9, 0x47, 16, 0xde, 0xc9)
	for _, load := range [][]byte{{0xdf, 0x47, 2}, {0xdb, 0x47, 3}, {0xdf, 0x6f, 1}} {
		around(fmt.Sprintf("x87 integer % x", load), append(load, 0xde, 0xe9)...)
	}
	small := func(v *vector) { copy(v.mem[:], le64(math.Float64bits(float64(v.rng.IntN(60000)-30000)/4))) }
	for _, st := range [][]byte{{0xdf, 0x57, 32}, {0xdb, 0x57, 32}, {0xdf, 0x5f, 32}, {0xdb, 0x5f, 32}} {
		all := append([]byte{0xdb, 0xe3, 0xdd, 0x07}, st...)
		g.raw(fmt.Sprintf("x87 store % x", st), 0, append(all, 0xdf, 0xe0, 0xdb, 0xe3)...).also(state).also(small).times(6)
	}
	g.raw("x87 outside", 0, 0xdd, 0x07).also(func(v *vector) { v.regs[rdi] = 0x1000 })
}
