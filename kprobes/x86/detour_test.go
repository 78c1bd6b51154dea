package x86

import (
	"bytes"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestDetour fills in a template of an argument, a call and nothing else, and moves instructions of which the second one and the
// third one name places relative to themselves.
func TestDetour(t *testing.T) {
	const at, buffer = 0x1000, 0x3000
	region := kprobes.Region{Addr: at, Code: []byte("\x90\x48\x8d\x05\x10\x00\x00\x00\x8b\x0d\x10\x00\x00\x00")} // nop; lea 0x1018(%rip),%rax; mov 0x101e(%rip),%ecx
	where := kprobes.DetourAt{Addr: buffer, Probe: 0x1122334455667788, Calls: []uint64{0x4000}}
	got, refused := detour(kprobes.Template{Code: make([]byte, 13), Marks: []int{0, 8}}, region, where, 64)
	want := "\x88\x77\x66\x55\x44\x33\x22\x11" + "\xe8\xf3\x0f\x00\x00" + // argument and call
		"\x90" + "\x48\x8d\x05\x03\xe0\xff\xff" + "\x8b\x0d\x03\xe0\xff\xff" + // 0x2000+13 farther away
		"\xe9\xee\xdf\xff\xff"
	require.That(t, refused == nil && bytes.Equal(got, []byte(want)), "% x, %v; want % x", got, refused, want)
}

// TestPackagedBoost holds the rule of packaged kernels for one instruction against its opcode.
func TestPackagedBoost(t *testing.T) {
	for code, want := range map[string]bool{
		"\x90":                 true,
		"\xff\xe0":             true,  // jmp *%rax
		"\xff\xd0":             false, // call *%rax
		"\xff\xc0":             false, // inc %eax
		"\x0f\x1f\x00":         true,  // nopl
		"\x0f\xaf\xc1":         true,  // imul
		"\x0f\x0b":             false, // ud2
		"\x0f\x38\xf0\x07":     false, // movbe
		"\x0f\x3a\x0f\xc1\x08": false, // palignr
		"\xc5\xf8\x77":         false, // vzeroupper
	} {
		p, seen := Packaged{Mode: 64}, false
		p.walk(kprobes.Text{Start: 0x1000, Code: []byte(code)}, func(in insn) bool {
			if seen = true; p.canBoost(in) != want {
				t.Errorf("% x is boosted: %t", code, !want)
			}
			return true
		})
		require.That(t, seen, "% x is not read", code)
	}
}

// TestClassify names what the checker of races asks for, and where a jump leads.
func TestClassify(t *testing.T) {
	const at = 0x1000
	for _, x := range []struct {
		code string
		mode int
		want kprobes.Class
	}{
		{"\xcc\x90", 64, kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 1}},
		{"\xf3\x90", 64, kprobes.Class{Kind: kprobes.ClassSpin, Len: 2}},
		{"\xe9\x10\x00\x00\x00", 64, kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0x1015}},
		{"\xe9\xf0\xff\xff\xff", 64, kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0xff5}},
		{"\xe9\x00\xe0\xff\xff", 32, kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0xfffff005}},
		{"\xe9\x10", 64, kprobes.Class{}},
		{"\x48\x89\xe5", 64, kprobes.Class{Len: 3}},
		{"", 64, kprobes.Class{}},
	} {
		require.Equal(t, classify([]byte(x.code), at, x.mode), x.want, "% x", x.code)
	}
	for code, want := range map[string]bool{
		"\x74\x00": true, "\xe0\x00": true, "\xe3\x00": true, "\xe9\x00\x00\x00\x00": true, "\xeb\x00": true, "\x0f\x84\x00\x00\x00\x00": true,
		"\xe8\x00\x00\x00\x00": false, "\x90": false, "\xc3": false, "\x0f\xaf\xc1": false, "\xe4\x00": false,
	} {
		in, err := decode([]byte(code), at, 64)
		require.That(t, err == nil && relativeJump(in) == want, "% x is a relative jump: %t, %v", code, !want, err)
	}
}
