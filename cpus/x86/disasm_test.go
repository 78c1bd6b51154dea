package x86

import (
	"testing"

	"kprobesim/cpus"
)

// TestDisassembly prints instructions with names in the place of addresses.
func TestDisassembly(t *testing.T) {
	for _, x := range []struct {
		isa  *cpus.ISA
		base uint64 // of the function that has a name
		text map[string]string
	}{
		{ISA64(), 0xffffffff80100000, map[string]string{
			"\x55":                                 "push %rbp",
			"\x74\x0e":                             "je fn+0x20",
			"\xe8\xeb\xff\xff\xff":                 "callq fn",
			"\x48\xc7\xc7\x40\x00\x10\x80":         "mov $fn+0x40,%rdi",
			"\x48\x33\x82\x40\x00\x10\x80":         "xor fn+0x40(%rdx),%rax",
			"\x65\x48\x8b\x04\x25\x00\x00\x00\x00": "mov %gs:0x0,%rax",
			"\x48\x33\x05\x40\x00\x10\x80":         "xor -0x7fefffc0(%rip),%rax",
			"\x48\x33\x05\xf8\xff\xff\xff":         "xor fn+0xf(%rip),%rax",
			"\x49\x8b\x44\x24\x08":                 "mov 0x8(%r12),%rax",
			"\x48\x83\xc0\x10":                     "add $0x10,%rax",
		}},
		{ISA32(), 0xc0100000, map[string]string{
			"\x55":                         "push %ebp",
			"\xe8\xeb\xff\xff\xff":         "call fn",
			"\xbf\x40\x00\x10\xc0":         "mov $fn+0x40,%edi",
			"\x33\x82\x40\x00\x10\xc0":     "xor fn+0x40(%edx),%eax",
			"\x33\x04\x85\x40\x00\x10\xc0": "xor fn+0x40(,%eax,4),%eax",
			"\xa1\x00\x00\x10\xc0":         "mov fn,%eax",
			"\x89\x0d\x00\x00\x10\xc0":     "mov %ecx,fn",
		}},
	} {
		name := func(a uint64) (string, uint64) {
			if a >= x.base && a < x.base+0x1000 {
				return "fn", x.base
			}
			return "", 0
		}
		for code, want := range x.text {
			if got, n := x.isa.Disasm([]byte(code), x.base+0x10, name); got != want || n != len(code) {
				t.Errorf("% x: %q in %d bytes, want %q", code, got, n, want)
			}
		}
	}
}
