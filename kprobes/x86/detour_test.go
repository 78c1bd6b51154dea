package x86

import (
	"bytes"
	"testing"

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
	if refused != nil || !bytes.Equal(got.Code, []byte(want)) || got.Copied != 13 {
		t.Errorf("% x, %d, %v; want % x", got.Code, got.Copied, refused, want)
	}
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
		if !seen {
			t.Errorf("% x is not read", code)
		}
	}
}
