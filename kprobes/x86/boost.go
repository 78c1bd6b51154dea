package x86

import "strings"

// opcodes lists bytes and ranges of them, both ends included, in hexadecimal.
type opcodes string

func (list opcodes) has(b byte) bool {
	const digits = "0123456789abcdef"
	text := string([]byte{digits[b>>4], digits[b&15]})
	for span := range strings.FieldsSeq(string(list)) {
		lo, hi, ranged := strings.Cut(span, "-")
		if text == lo || ranged && lo < text && text <= hi {
			return true
		}
	}
	return false
}

const (
	// noBoost are the one-byte opcodes that a kernel of the era single-steps. Everything else is boosted, whether or not
	// that is the tightest rule: shifts (c0 to d3) and the unary groups (f6 and behind) are refused although they would
	// be harmless. Branches are among them, because the guest corrects the instruction pointer only after a step.
	noBoost opcodes = "2e 62 67 70-7f 9a c0-c1 cc-ce d0-d3 d6 d8-df e0-e3 e8-e9 eb f0-f4 f6-f7 fe-ff"

	// boostPrefixes are prefixes behind which the rules look at the next byte.
	// The others, cs and address size, are refused with the opcodes, as the kernel does.
	boostPrefixes opcodes = "26 36 3e 64-66 f0 f2-f3"

	// boost0F are the two-byte opcodes (behind 0f) that are boosted.
	// They are the set bits of the kernel's table for them, as spans. Near jcc (80 to 8f, SDM vol. 2,
	// table A-3) is a gap, as a relative branch in a slot leads elsewhere.
	boost0F opcodes = "02-03 06 08-09 20-23 31 40-4f 60-6b 6e-6f 74-77 7e-7f 90-9f a0-a1 a3-a5 a8-a9 ab-ad af b0-b7 bb-bf " +
		"c0-c1 c8-cf d1-d3 d5 d8-d9 db-dd df e1-e2 e5 e8-e9 eb-ed ef f1-f3 f5 f8-fa fc-fe"
)

// canBoost reports whether the instruction at the start of code may be followed by a jump
// back instead of being single-stepped, by the rules of Linux 2.6.33. The rules look at bytes
// alone; exception table and post handler are the caller's business.
func canBoost(code []byte, mode int) bool {
	for i, b := range code {
		switch {
		case b == 0x0f:
			return boost0F.has(code[i+1])
		case mode == 64 && b&0xf0 == 0x40: // REX
		case boostPrefixes.has(b):
		default:
			return !noBoost.has(b)
		}
	}
	return false
}
