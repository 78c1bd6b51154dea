package x86

import (
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// Each function is one instruction that the library's decoder may lack, with a return behind it. The lengths follow
// the encodings (SDM vol. 2).
func TestPackagedReadsLongMaps(t *testing.T) {
	for name, code := range map[string]string{
		"vzeroupper":             "\xc5\xf8\x77",
		"vzeroall":               "\xc5\xfc\x77",
		"vmovdqa (%rdi)":         "\xc5\xfd\x6f\x07",
		"vpsrlq $4":              "\xc5\xfd\x73\xd0\x04",
		"vpshufb":                "\xc4\xe2\x7d\x00\xc1",
		"vextracti128 $1":        "\xc4\xe3\x7d\x39\xc1\x01",
		"vmovdqa64 64(%rsp)":     "\x62\xf1\xfd\x48\x6f\x44\x24\x01",
		"vmovdqa64 0(%rip)":      "\x62\xf1\xfd\x48\x6f\x05\x00\x00\x00\x00",
		"movbe (%rdi)":           "\x0f\x38\xf0\x07",
		"palignr $8":             "\x66\x0f\x3a\x0f\xc1\x08",
		"vextracti128 $1, gs":    "\x65\x67\x2e\x3e\xc4\xe3\x7d\x39\x8c\x20\x10\x00\x00\x00\x01", // the most bytes that there may be
		"sha256rnds2 16(%rax,1)": "\x0f\x38\xcb\x44\x20\x10",
	} {
		fn := kprobes.Text{Start: 0x1000, Code: []byte(code + "\xc3")}
		want := []uint64{0x1000, 0x1000 + uint64(len(code))}
		got := (Packaged{Mode: 64}).Starts(fn)
		require.That(t, slices.Equal(got, want), "%s: instructions start at %#x, want %#x", name, got, want)
	}
	for code, want := range map[string]bool{"\xc5\xf8\x77": true, "\xc5\x30\xff": false, "\xc4\xc0\x00": true, "\x62": false, "\x90\xff": false} {
		require.Equal(t, vector([]byte(code), 32), want, "% x in 32-bit mode is VEX or EVEX", code)
	}
}

// TestLengthsByMap compares the lengths of instructions behind 0f with those that the library knows, with all forms of their operands.
// Some have no ModR/M byte (SDM vol. 2, table A-3), or none that the length of an operand depends on.
func TestLengthsByMap(t *testing.T) {
	compared := 0
	for op := range 256 {
		if op < 0x10 && op != 0x0d || op >= 0x20 && op < 0x28 || op>>4 == 3 || op>>4 == 8 || op&^0x0a == 0xa0 || op&^8 == 0xa1 || op >= 0xc8 && op < 0xd0 {
			continue
		}
		for modrm := range 256 {
			for _, sib := range []byte{0x25, 0x08} {
				code := []byte{0x0f, byte(op), byte(modrm), sib, 1, 2, 3, 4, 5, 6}
				in, err := x86asm.Decode(code, 64)
				if err != nil || in.Op == 0 {
					continue
				}
				compared++
				require.Need(t, lengthByMap(code, 64) == in.Len, "% x, %v: %d bytes, want %d", code, in, lengthByMap(code, 64), in.Len)
			}
		}
	}
	require.That(t, compared > 10_000, "the library knows only %d", compared)
}

// TestBoundaries asks for each byte of a function whether an instruction starts there. From 2.6.33 to 6.0 nothing behind a breakpoint
// can be told.
func TestBoundaries(t *testing.T) {
	var code []byte
	starts, broken := map[uint64]bool{}, uint64(0)
	for _, c := range []string{"\x55", "\x48\x89\xe5", "\x66\x0f\x1f\x44\x00\x00", "\xe8\x01\x00\x00\x00", "\xc3", "\xcc", "\x90", "\x31\xc0", "\xc3"} {
		at := 0x1000 + uint64(len(code))
		if starts[at] = true; c == "\xcc" {
			broken = at
		}
		code = append(code, c...)
	}
	fn := kprobes.Text{Start: 0x1000, Code: code}
	p := Packaged{Mode: 64}
	remembering := p.Remembering()
	for at := uint64(0xfff); at <= fn.End(); at++ {
		require.Equal(t, boundary(fn, at, 64, true) == nil, starts[at] && at <= broken, "a function of 2010 has an instruction at %#x", at)
		require.Equal(t, boundary(fn, at, 64, false) == nil, starts[at], "one of 2020 has an instruction at %#x", at)
		require.Equal(t, p.Boundary(fn, at), starts[at], "a packaged one has an instruction at %#x", at)
		require.Equal(t, remembering.Boundary(fn, at), starts[at], "one that is remembered has an instruction at %#x", at)
	}
}

// What is cut off cannot be read, and nothing behind it is looked at.
func TestPackagedStopsAtTheEnd(t *testing.T) {
	for _, code := range []string{"\xc5", "\xc5\xfd\x6f", "\xc4\xe3\x7d", "\x62\xf1\xfd\x48", "\x62\xf1\xfd\x48\x6f\x44", "\x0f\x38"} {
		got := (Packaged{Mode: 64}).Starts(kprobes.Text{Code: []byte(code)})
		require.That(t, len(got) <= 0, "% x: instructions start at %#x, want none", code, got)
	}
}

// TestMembersOfGroups holds which members of groups 2 to 5 run elsewhere unaided from 6.9 on, and before, and which traps take no
// probe then.
func TestMembersOfGroups(t *testing.T) {
	for code, want := range map[string][2]bool{
		"\xc1\xe0\x02": {false, true}, "\xc1\xf0\x02": {false, false}, "\xd3\xe8": {false, true}, "\xd0\x38": {false, true},
		"\xf6\xc1\x02": {false, true}, "\xf6\xc9\x02": {false, false}, "\x48\xf7\xd8": {false, true},
		"\xfe\xc0": {false, true}, "\xfe\xd0": {false, false}, "\xff\xc8": {false, true}, "\xff\xe0": {true, true}, "\xff\xd0": {false, false},
		"\x89\xd8": {true, true},
	} {
		for i, p := range []Packaged{{Mode: 64}, {Mode: 64, Groups: true}} {
			in := insn{Code: []byte(code), Opcode: opcodeOf([]byte(code), 64)}
			require.Equal(t, p.canBoost(in), want[i], "% x, from 6.9 on %v", code, p.Groups)
		}
	}
	for code, want := range map[string]bool{"\xcc": true, "\xcd\x80": true, "\xf1": true, "\x0f\x0b": true, "\x0f\xb9\xc1": true, "\x0f\xff\xc0": true, "\x0f\x05": false, "\x90": false} {
		_, err := (Packaged{Mode: 64, Groups: true}).Run([]byte(code), 0x1000)
		require.That(t, (err == kprobes.EILSEQ) == want, "% x: %v", code, err)
	}
}
