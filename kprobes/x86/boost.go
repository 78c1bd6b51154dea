package x86

import "slices"

// byteSpan is a range of opcode bytes, both ends included.
type byteSpan struct{ lo, hi byte }

func inSpans(spans []byteSpan, b byte) bool {
	return slices.ContainsFunc(spans, func(s byteSpan) bool { return s.lo <= b && b <= s.hi })
}

// noBoost lists the one-byte opcodes that a kernel of the era single-steps. Everything else
// is boosted, whether or not that is the tightest rule: shifts and the unary groups are refused
// although they would be harmless.
// Branches are among them, because the guest corrects the instruction pointer only after a step.
func noBoost() []byteSpan {
	return []byteSpan{
		{0x2e, 0x2e},               // cs override
		{0x62, 0x62}, {0x67, 0x67}, // bound, address size override
		{0x70, 0x7f},               // jcc
		{0x9a, 0x9a},               // call far
		{0xc0, 0xc1},               // shifts by immediate
		{0xcc, 0xce},               // int3, int, into
		{0xd0, 0xd3},               // shifts
		{0xd6, 0xd6}, {0xd8, 0xdf}, // salc, x87
		{0xe0, 0xe3},               // loops, jcxz
		{0xe8, 0xe9}, {0xeb, 0xeb}, // call, jmp
		{0xf0, 0xf4}, {0xf6, 0xf7}, {0xfe, 0xff}, // lock, int1, rep, hlt; unary groups
	}
}

// boostPrefixes lists prefixes behind which the rules look at the next byte.
// The others, cs and address size, are refused with the opcodes, as the kernel does.
func boostPrefixes() []byteSpan {
	return []byteSpan{
		{0x26, 0x26}, {0x36, 0x36}, {0x3e, 0x3e}, {0x64, 0x66}, {0xf0, 0xf0}, {0xf2, 0xf3},
	}
}

// boost0F lists the two-byte opcodes (behind 0f) that are boosted.
// They are the set bits of the kernel's table for them, as spans. Near jcc (80 to 8f, SDM vol. 2,
// table A-3) is a gap, as a relative branch in a slot leads elsewhere.
func boost0F() []byteSpan {
	return []byteSpan{
		{0x02, 0x03},
		{0x06, 0x06},
		{0x08, 0x09},
		{0x20, 0x23},
		{0x31, 0x31},
		{0x40, 0x4f},
		{0x60, 0x6b},
		{0x6e, 0x6f},
		{0x74, 0x77},
		{0x7e, 0x7f},
		{0x90, 0x9f},
		{0xa0, 0xa1},
		{0xa3, 0xa5},
		{0xa8, 0xa9},
		{0xab, 0xad},
		{0xaf, 0xaf},
		{0xb0, 0xb7},
		{0xbb, 0xbf},
		{0xc0, 0xc1},
		{0xc8, 0xcf},
		{0xd1, 0xd3},
		{0xd5, 0xd5},
		{0xd8, 0xd9},
		{0xdb, 0xdd},
		{0xdf, 0xdf},
		{0xe1, 0xe2},
		{0xe5, 0xe5},
		{0xe8, 0xe9},
		{0xeb, 0xed},
		{0xef, 0xef},
		{0xf1, 0xf3},
		{0xf5, 0xf5},
		{0xf8, 0xfa},
		{0xfc, 0xfe},
	}
}

// canBoost reports whether the instruction at the start of code may be followed by a jump
// back instead of being single-stepped, by the rules of Linux 2.6.33. The rules look at bytes
// alone; exception table and post handler are the caller's business.
func canBoost(code []byte, mode int) bool {
	for i, b := range code {
		switch {
		case b == 0x0f:
			return i+1 < len(code) && inSpans(boost0F(), code[i+1])
		case mode == 64 && b&0xf0 == 0x40: // REX
		case inSpans(boostPrefixes(), b):
		default:
			return !inSpans(noBoost(), b)
		}
		if i >= maxInsn-1 {
			return false
		}
	}
	return false
}
