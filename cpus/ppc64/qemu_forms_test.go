package ppc64

import (
	"fmt"
	"math/rand/v2"
)

// groups are the parts of the comparison; each becomes one program.
var groups = []struct {
	name  string
	build func(*rand.Rand) []*form
}{
	{"arithmetic", arithmeticForms},
	{"immediates", immediateForms},
	{"logic", logicForms},
	{"rotation", rotationForms},
	{"comparison", comparisonForms},
	{"condition", conditionForms},
	{"special", specialForms},
	{"branches", branchForms},
	{"loads", loadForms},
	{"stores", storeForms},
	{"multiple", multipleForms},
	{"reservations", reservationForms},
	{"cache", cacheForms},
	{"sequences", sequenceForms},
}

// perForm is how many encodings of an instruction are drawn, with different registers.
const perForm = 4

// reg draws a register.
func reg(r *rand.Rand) uint32 { return r.Uint32N(32) }

// drawn makes perForm forms of one instruction.
func drawn(name string, encode func() uint32) []*form {
	var out []*form
	for range perForm {
		out = append(out, &form{name: name, code: []uint32{encode()}})
	}
	return out
}

func arithmeticForms(r *rand.Rand) []*form {
	var out []*form
	for _, xo := range []uint32{266, 40, 10, 8, 138, 136, 234, 232, 202, 200, 104, 235, 233, 491, 459, 489, 457} {
		for rc := range uint32(4) { // Rc, and OE
			out = append(out, drawn(fmt.Sprintf("31/%d oe,rc %d", xo, rc), func() uint32 {
				rb := reg(r)
				if xo == 104 || xo >= 200 && xo <= 234 && xo != 233 {
					rb = 0 // reserved
				}
				return insnX(31, reg(r), reg(r), rb, xo+rc>>1<<9) | rc&1
			})...)
		}
	}
	for _, xo := range []uint32{75, 11, 73, 9} {
		for rc := range uint32(2) {
			out = append(out, drawn(fmt.Sprintf("31/%d rc %d", xo, rc), func() uint32 {
				return insnX(31, reg(r), reg(r), reg(r), xo) | rc
			})...)
		}
	}
	return out
}

// immediateForms are the instructions with an immediate in the lower half.
func immediateForms(r *rand.Rand) []*form {
	out := []*form{{name: "nop", code: []uint32{insnNop}}}
	for _, opcode := range []uint32{7, 8, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29} {
		out = append(out, drawn(fmt.Sprintf("opcode %d", opcode), func() uint32 {
			return insnD(opcode, reg(r), reg(r), int(value(r)))
		})...)
	}
	for _, opcode := range []uint32{14, 15} {
		out = append(out, drawn(fmt.Sprintf("opcode %d, ra 0", opcode), func() uint32 {
			return insnD(opcode, reg(r), 0, int(value(r)))
		})...)
	}
	return out
}

func logicForms(r *rand.Rand) []*form {
	var out []*form
	for _, xo := range []uint32{28, 444, 316, 476, 124, 284, 60, 412, 24, 536, 792, 824, 27, 539, 794, 826, 827, 954, 922, 986, 26, 58} {
		for rc := range uint32(2) {
			out = append(out, drawn(fmt.Sprintf("31/%d rc %d", xo, rc), func() uint32 {
				rb := reg(r)
				switch xo {
				case 954, 922, 986, 26, 58:
					rb = 0
				}
				return insnX(31, reg(r), reg(r), rb, xo) | rc
			})...)
		}
	}
	return append(out, drawn("popcntb", func() uint32 { return insnX(31, reg(r), reg(r), 0, 122) })...)
}

func rotationForms(r *rand.Rand) []*form {
	var out []*form
	for rc := range uint32(2) {
		for range 4 {
			for _, opcode := range []uint32{20, 21, 23} {
				out = append(out, drawn(fmt.Sprintf("opcode %d rc %d", opcode, rc), func() uint32 {
					return insnM(opcode, reg(r), reg(r), reg(r), reg(r), reg(r)) | rc
				})...)
			}
			for xo := range uint32(4) {
				out = append(out, drawn(fmt.Sprintf("30/%d rc %d", xo, rc), func() uint32 {
					return insnMD(reg(r), reg(r), r.Uint32N(64), r.Uint32N(64), xo) | rc
				})...)
			}
			for _, xo := range []uint32{8, 9} {
				out = append(out, drawn(fmt.Sprintf("30/%d rc %d", xo, rc), func() uint32 {
					mb := r.Uint32N(64)
					return 30<<26 | reg(r)<<21 | reg(r)<<16 | reg(r)<<11 | mb&31<<6 | mb>>5<<5 | xo<<1 | rc
				})...)
			}
		}
	}
	return out
}

func comparisonForms(r *rand.Rand) []*form {
	var out []*form
	for l := range uint32(2) {
		for _, xo := range []uint32{0, 32} {
			out = append(out, drawn(fmt.Sprintf("31/%d l %d", xo, l), func() uint32 {
				return insnX(31, r.Uint32N(8)<<2|l, reg(r), reg(r), xo)
			})...)
		}
		for _, opcode := range []uint32{10, 11} {
			out = append(out, drawn(fmt.Sprintf("opcode %d l %d", opcode, l), func() uint32 {
				return insnD(opcode, r.Uint32N(8)<<2|l, reg(r), int(value(r)))
			})...)
		}
	}
	// Traps whose condition never holds: those that do are TestTrapsAgainstQemu's.
	for _, xo := range []uint32{4, 68} {
		out = append(out, drawn(fmt.Sprintf("31/%d to 0", xo), func() uint32 { return insnX(31, 0, reg(r), reg(r), xo) })...)
	}
	for _, opcode := range []uint32{2, 3} {
		out = append(out, drawn(fmt.Sprintf("opcode %d to 0", opcode), func() uint32 { return insnD(opcode, 0, reg(r), 5) })...)
	}
	return out
}

func conditionForms(r *rand.Rand) []*form {
	var out []*form
	for _, xo := range []uint32{257, 449, 193, 225, 33, 289, 129, 417} {
		for range 3 {
			out = append(out, drawn(fmt.Sprintf("19/%d", xo), func() uint32 { return insnX(19, reg(r), reg(r), reg(r), xo) })...)
		}
	}
	out = append(out, drawn("mcrf", func() uint32 { return insnX(19, r.Uint32N(8)<<2, r.Uint32N(8)<<2, 0, 0) })...)
	out = append(out, drawn("mcrxr", func() uint32 { return insnX(31, r.Uint32N(8)<<2, 0, 0, 512) })...)
	out = append(out, drawn("mfcr", func() uint32 { return insnX(31, reg(r), 0, 0, 19) })...)
	out = append(out, drawn("mtcrf", func() uint32 { return 31<<26 | reg(r)<<21 | r.Uint32N(256)<<12 | 144<<1 })...)
	one := func(xo uint32) func() uint32 {
		return func() uint32 { return 31<<26 | reg(r)<<21 | 1<<20 | 1<<r.Uint32N(8)<<12 | xo<<1 }
	}
	out = append(out, drawn("mfocrf", one(19))...)
	return append(out, drawn("mtocrf", one(144))...)
}

func specialForms(r *rand.Rand) []*form {
	var out []*form
	for _, n := range []uint32{1, 8, 9} {
		out = append(out, drawn(fmt.Sprintf("mfspr %d", n), func() uint32 { return mfsprOf(reg(r), n) })...)
		for _, f := range drawn(fmt.Sprintf("mtspr %d", n), func() uint32 { return mtspr(n, 7) }) {
			if n == 1 {
				f.setup = func(_ *rand.Rand, s *state, _ uint64) { s.r[7] &= xerSO | xerOV | xerCA | xerCount }
			}
			out = append(out, f)
		}
	}
	return out
}

// branchForms jump to what stands behind the form's end. A register shows whether they did.
func branchForms(r *rand.Rand) []*form {
	var out []*form
	for lk := range uint32(2) {
		out = append(out,
			&form{name: "b", code: []uint32{18<<26 | 8 | lk}},
			&form{name: "ba", code: []uint32{18<<26 | qemuLanding | 2 | lk}})
		for bo := range uint32(32) {
			if bo&0x14 == 0x14 && bo != 20 {
				continue // invalid
			}
			count := func(_ *rand.Rand, s *state, _ uint64) { s.ctr = r.Uint64N(3) }
			out = append(out,
				&form{name: fmt.Sprintf("bc %d", bo), code: []uint32{16<<26 | bo<<21 | reg(r)<<16 | 8 | lk}, setup: count},
				&form{name: fmt.Sprintf("bca %d", bo), code: []uint32{16<<26 | bo<<21 | reg(r)<<16 | qemuLanding | 2 | lk}, setup: count},
				&form{name: fmt.Sprintf("bclr %d", bo), code: []uint32{insnX(19, bo, reg(r), 0, 16) | lk}, setup: func(_ *rand.Rand, s *state, at uint64) {
					s.ctr, s.lr = r.Uint64N(3), at+8+r.Uint64N(4)
				}})
			if bo&boNoCount != 0 {
				out = append(out, &form{name: fmt.Sprintf("bcctr %d", bo), code: []uint32{insnX(19, bo, reg(r), 0, 528) | lk}, setup: func(_ *rand.Rand, s *state, at uint64) {
					s.ctr = at + 8 + r.Uint64N(4)
				}})
			}
		}
	}
	return append(out, &form{name: "get pc", code: []uint32{getPC}})
}

// inside makes a base register and perhaps an index point into the sandbox, with room for some bytes behind.
func inside(base, index uint32, disp int, room uint64) func(*rand.Rand, *state, uint64) {
	return func(r *rand.Rand, s *state, _ uint64) {
		at := uint64(sandbox) + r.Uint64N(sandboxSize-room)
		if index < 32 {
			s.r[index] = value(r)
			at -= s.r[index]
		}
		s.r[base] = at - uint64(disp)
	}
}

// two draws two different registers, neither of them r0.
func two(r *rand.Rand) (a, b uint32) {
	a = 1 + r.Uint32N(31)
	for b = a; b == a; {
		b = 1 + r.Uint32N(31)
	}
	return a, b
}

const noIndex = 32

// displaced are forms with a displacement: kinds are opcodes, low the lowest two bits.
func displaced(r *rand.Rand, name string, opcode uint32, low, align int) []*form {
	var out []*form
	for range perForm {
		base, target := two(r)
		disp := int(int16(r.Uint32())) &^ (align - 1)
		out = append(out, &form{name: name, code: []uint32{insnD(opcode, target, base, disp|low)}, setup: inside(base, noIndex, disp, 8)})
	}
	return out
}

func indexed(r *rand.Rand, xo, rc uint32) []*form {
	var out []*form
	for range perForm {
		base, index := two(r)
		target := base
		for target == base {
			target = reg(r)
		}
		out = append(out, &form{
			name: fmt.Sprintf("31/%d", xo), code: []uint32{insnX(31, target, base, index, xo) | rc},
			setup: inside(base, index, 0, 8),
		})
	}
	return out
}

func loadForms(r *rand.Rand) []*form {
	var out []*form
	for _, opcode := range []uint32{32, 33, 34, 35, 40, 41, 42, 43} {
		out = append(out, displaced(r, fmt.Sprintf("opcode %d", opcode), opcode, 0, 1)...)
	}
	for low := range 3 {
		out = append(out, displaced(r, fmt.Sprintf("58/%d", low), 58, low, 4)...)
	}
	for _, xo := range []uint32{87, 119, 279, 311, 343, 375, 23, 55, 341, 373, 21, 53, 790, 534} {
		out = append(out, indexed(r, xo, 0)...)
	}
	return append(out, &form{ // RA = 0 is the number zero
		name: "lwzx, ra 0", code: []uint32{insnX(31, 3, 0, 4, 23)}, setup: inside(4, noIndex, 0, 8),
	})
}

func storeForms(r *rand.Rand) []*form {
	var out []*form
	for _, opcode := range []uint32{36, 37, 38, 39, 44, 45} {
		out = append(out, displaced(r, fmt.Sprintf("opcode %d", opcode), opcode, 0, 1)...)
	}
	for low := range 2 {
		out = append(out, displaced(r, fmt.Sprintf("62/%d", low), 62, low, 4)...)
	}
	for _, xo := range []uint32{215, 247, 407, 439, 151, 183, 149, 181, 918, 662} {
		out = append(out, indexed(r, xo, 0)...)
	}
	return out
}

// multipleForms keep the address out of the registers that are loaded, where the result would be undefined.
func multipleForms(r *rand.Rand) []*form {
	var out []*form
	for _, first := range []uint32{31, 30, 20, 5} {
		for _, opcode := range []uint32{46, 47} {
			out = append(out, &form{
				name: fmt.Sprintf("opcode %d from %d", opcode, first), code: []uint32{insnD(opcode, first, 3, 4)},
				setup: inside(3, noIndex, 4, 128),
			})
		}
	}
	for _, nb := range []uint32{0, 1, 4, 7, 16, 31} {
		for _, xo := range []uint32{597, 725} {
			out = append(out, &form{
				name: fmt.Sprintf("31/%d of %d", xo, nb), code: []uint32{insnX(31, 28, 20, nb, xo)},
				setup: inside(20, noIndex, 0, 32),
			})
		}
	}
	for _, xo := range []uint32{533, 661} {
		out = append(out, &form{
			name: fmt.Sprintf("31/%d", xo), code: []uint32{insnX(31, 26, 20, 21, xo)}, setup: inside(20, 21, 0, 64),
		})
	}
	return out
}

// reservationForms: with and without a reservation, and after one was used.
func reservationForms(*rand.Rand) []*form {
	lwarx, stwcx := insnX(31, 5, 4, 3, 20), insnX(31, 6, 4, 3, 150)|1
	ldarx, stdcx := insnX(31, 5, 4, 3, 84), insnX(31, 6, 4, 3, 214)|1
	var out []*form
	for i, code := range [][]uint32{
		{lwarx, stwcx},
		{stwcx},
		{ldarx, stdcx},
		{stdcx},
		{lwarx, stwcx, stwcx},
		{lwarx, addiTo(6, 5, 1), stwcx, lwarx},
		{ldarx, stdAt(7, 8, 0), stdcx},
	} {
		out = append(out, &form{name: fmt.Sprintf("reservation %d", i), code: code, setup: func(r *rand.Rand, s *state, at uint64) {
			inside(4, 3, 0, 8)(r, s, at)
			s.r[4] -= (s.r[4] + s.r[3]) & 7
			s.r[8] = sandbox + sandboxSize - 8
			if s.r[4]+s.r[3] == s.r[8] {
				s.r[4] -= 8
			}
		}})
	}
	return out
}

func cacheForms(*rand.Rand) []*form {
	var out []*form
	// qemu zeroes 32 bytes by a plain dcbz, which on a 970 is a matter of HID5, and a line by dcbzl.
	const dcbzl = 1
	for _, x := range [][2]uint32{{54, 0}, {86, 0}, {278, 0}, {246, 0}, {1014, dcbzl}, {982, 0}} {
		out = append(out, &form{name: fmt.Sprintf("31/%d", x[0]), code: []uint32{insnX(31, x[1], 4, 3, x[0])}, setup: inside(4, 3, 0, 1)})
	}
	for _, w := range []uint32{0x7c0004ac, 0x7c2004ac, 0x7c4004ac, 0x7c0006ac, insnIsync} {
		out = append(out, &form{name: fmt.Sprintf("%#x", w), code: []uint32{w}})
	}
	return out
}

// sequenceForms chain instructions through registers, carry and condition register.
func sequenceForms(r *rand.Rand) []*form {
	one := arithmeticForms(r)
	one = append(one, immediateForms(r)...)
	one = append(one, logicForms(r)...)
	one = append(one, rotationForms(r)...)
	one = append(one, comparisonForms(r)...)
	one = append(one, conditionForms(r)...)
	var out []*form
	for i := range 60 {
		f := &form{name: fmt.Sprintf("sequence %d", i)}
		for range 20 {
			f.code = append(f.code, one[r.IntN(len(one))].code...)
		}
		out = append(out, f)
	}
	return out
}
