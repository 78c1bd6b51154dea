package x86

import (
	"slices"
	"testing"

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
