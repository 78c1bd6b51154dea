package x86

import "math/rand/v2"

// drawBytes draws an instruction: prefixes now and then, any opcode, any operands.
func drawBytes(rng *rand.Rand, bits int) []byte {
	var code []byte
	for rng.IntN(3) == 0 && len(code) < 4 {
		code = append(code, []byte{0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x64, 0x65, 0x40 | byte(rng.IntN(16))}[rng.IntN(9)])
	}
	if rng.IntN(2) == 0 && bits == 64 {
		code = append(code, 0x40|byte(rng.IntN(16)))
	}
	if rng.IntN(3) == 0 {
		code = append(code, 0x0f)
	}
	for len(code) < 16 {
		code = append(code, byte(rng.Uint32()))
	}
	return code
}

// rareBytes begin instructions that the model once had wrong and random bytes seldom are: hints with REX, branches to
// addresses that are not canonical, prefixes that choose an instruction of which there is none, strings that end at a
// page's end, and what 32-bit mode has of segments. They are by mode.
var rareBytes = map[int][][]byte{64: codesOf("rare, 64 bits"), 32: codesOf("rare, 32 bits")}
