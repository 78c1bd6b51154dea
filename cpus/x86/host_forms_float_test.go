package x86

import (
	"fmt"
	"math/rand/v2"
)

// drawFloat draws the bits of a number of 32 or 64 bits, with many of those that are special: zeros, denormals, infinities,
// NaNs of both kinds, small integers and what is near overflow or near half a unit.
func drawFloat(rng *rand.Rand, width uint) uint64 {
	mantissa := uint(23)
	if width == 64 {
		mantissa = 52
	}
	exponent := uint64(1)<<(width-1-mantissa) - 1
	v := rng.Uint64() >> (64 - width)
	field := v >> mantissa & exponent
	switch rng.IntN(12) {
	case 0:
		field = 0
	case 1:
		field = 1 + rng.Uint64N(3)
	case 2:
		field = exponent
	case 3:
		field = exponent - 1 - rng.Uint64N(2)
	case 4, 5:
		field = exponent/2 + rng.Uint64N(70) - 3
	case 6, 7:
		field = exponent / 2
	case 8:
		field = exponent/4 + rng.Uint64N(4) - 2
	}
	v = v&^(exponent<<mantissa) | field<<mantissa
	switch rng.IntN(6) {
	case 0:
		v &^= 1<<mantissa - 1
	case 1:
		v = v&^(1<<mantissa-1) | 1<<rng.Uint64N(uint64(mantissa))
	case 2:
		v |= 1<<mantissa - 1 - rng.Uint64N(4)
	}
	return v
}

// drawMXCSR draws a direction, flags, both ways to flush, and now and then exceptions that are delivered.
func drawMXCSR(rng *rand.Rand) uint32 {
	v := rng.Uint32()&0xffff | mxcsrReset
	switch rng.IntN(6) {
	case 0:
		v &^= 1 << (mxcsrMasks + rng.IntN(6))
	case 1:
		v &^= rng.Uint32() & mxcsrReset
	}
	return v &^ (rng.Uint32() & rng.Uint32() & (mxcsrDAZ | mxcsrFTZ | mxcsrFlags))
}

// floatForm adds code on xmm0 and xmm1, which have numbers of a width, under any MXCSR, which is stored behind it.
func (g *gen) floatForm(name string, width uint, code ...byte) *form {
	all := append(append([]byte{0x0f, 0xae, 0x57, 32}, code...), 0x0f, 0xae, 0x5f, 36)
	return g.vectorForm(name, all...).times(12).also(func(v *vector) {
		at := v.mem[v.regs[rdi]-sandboxVA:]
		for i := 0; i < 32; i += int(width / 8) {
			copy(at[i:], le64(drawFloat(v.rng, width))[:width/8])
		}
		if v.rng.IntN(8) == 0 {
			copy(at[16:32], at[:16])
		}
		copy(at[32:], le32(drawMXCSR(v.rng)))
	})
}

// floatOpcodes are the opcodes behind 0f, with the width of the operands by the prefix: none, 66, f3, f2. There is no
// instruction where it is zero.
var floatOpcodes = []struct {
	op     byte
	widths [4]uint
}{
	{0x51, [4]uint{32, 64, 32, 64}},
	{0x58, [4]uint{32, 64, 32, 64}},
	{0x59, [4]uint{32, 64, 32, 64}},
	{0x5a, [4]uint{32, 64, 32, 64}},
	{0x5b, [4]uint{32, 32, 32}},
	{0x5c, [4]uint{32, 64, 32, 64}},
	{0x5d, [4]uint{32, 64, 32, 64}},
	{0x5e, [4]uint{32, 64, 32, 64}},
	{0x5f, [4]uint{32, 64, 32, 64}},
	{0xc2, [4]uint{32, 64, 32, 64}},
	{0xe6, [4]uint{0, 64, 32, 64}},
	{0x2a, [4]uint{2: 32, 3: 64}},
	{0x2c, [4]uint{2: 32, 3: 64}},
	{0x2d, [4]uint{2: 32, 3: 64}},
	{0x2e, [4]uint{32, 64}},
	{0x2f, [4]uint{32, 64}},
	{0x7c, [4]uint{1: 64, 3: 32}},
	{0x7d, [4]uint{1: 64, 3: 32}},
	{0xd0, [4]uint{1: 64, 3: 32}},
}

// floatPrefixes choose among the instructions of an opcode.
var floatPrefixes = [4][]byte{nil, {0x66}, {0xf3}, {0xf2}}

// eachFloat calls f with the code of each instruction without its operands, but for the immediate of comparisons.
func eachFloat(f func(code []byte, width uint)) {
	for _, x := range floatOpcodes {
		for i, width := range x.widths {
			if width != 0 {
				f(append(append([]byte{}, floatPrefixes[i]...), 0x0f, x.op), width)
			}
		}
	}
}

// buildFloats adds what SSE and SSE2 compute.
func buildFloats(g *gen) {
	eachFloat(func(code []byte, width uint) {
		add := func(code []byte, operands ...byte) {
			for n := range byte(8) {
				end := operands
				if code[len(code)-1] == 0xc2 {
					end = append(append([]byte{}, operands...), n)
				} else if n > 0 {
					break
				}
				g.floatForm(fmt.Sprintf("float % x % x", code, end), width, append(append([]byte{}, code...), end...)...)
			}
		}
		add(code, 0xc1)
		add(code, 0x47, 0x10)
		if op := code[len(code)-1]; op >= 0x2a && op <= 0x2d && g.bits == 64 {
			long := append(append(append([]byte{}, code[:len(code)-2]...), 0x48), code[len(code)-2:]...)
			add(long, 0xc1)
			add(long, 0x47, 0x10)
		}
	})
	for _, op := range []byte{0x52, 0x53} { // what is special alone: of other numbers processors have approximations of their own
		for _, p := range floatPrefixes[:3:3] {
			if len(p) == 0 || p[0] == 0xf3 {
				g.floatForm("approximation", 32, append(append([]byte{}, p...), 0x0f, op, 0xc1)...).also(func(v *vector) {
					at := v.mem[v.regs[rdi]+16-sandboxVA:]
					for i := 0; i < 16; i += 4 {
						if at[i+3] |= 0x7f; v.rng.IntN(2) == 0 {
							at[i+2], at[i+3] = at[i+2]&^0x80, at[i+3]&^0x7f
							continue
						}
						at[i+2] |= 0x80
					}
				})
			}
		}
	}
}
