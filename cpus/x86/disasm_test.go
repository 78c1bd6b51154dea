package x86

import "testing"

func TestDisassemblyNamesAddresses(t *testing.T) {
	const base = 0xffffffff80100000
	name := func(a uint64) (string, uint64) {
		if a >= base && a < base+0x1000 {
			return "fn", base
		}
		return "", 0
	}
	for _, c := range []struct {
		code []byte
		want string
	}{
		{[]byte{0x74, 0x0e}, "je fn+0x20"},
		{[]byte{0xe8, 0xeb, 0xff, 0xff, 0xff}, "callq fn"},
		{[]byte{0x48, 0xc7, 0xc7, 0x40, 0x00, 0x10, 0x80}, "mov $fn+0x40,%rdi"},
		{[]byte{0x48, 0x33, 0x82, 0x40, 0x00, 0x10, 0x80}, "xor fn+0x40(%rdx),%rax"},
		{[]byte{0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, "mov %gs:0x0,%rax"},
		{[]byte{0x49, 0x8b, 0x44, 0x24, 0x08}, "mov 0x8(%r12),%rax"},
		{[]byte{0x48, 0x83, 0xc0, 0x10}, "add $0x10,%rax"},
	} {
		got, n := ISA64().Disasm(c.code, base+0x10, name)
		if got != c.want || n != len(c.code) {
			t.Errorf("% x: %q in %d bytes, want %q", c.code, got, n, c.want)
		}
	}
}

func TestDisassemblyNamesAddressesOf32Bits(t *testing.T) {
	const base = 0xc0100000
	name := func(a uint64) (string, uint64) {
		if a >= base && a < base+0x1000 {
			return "fn", base
		}
		return "", 0
	}
	for _, c := range []struct {
		code []byte
		want string
	}{
		{[]byte{0xe8, 0xeb, 0xff, 0xff, 0xff}, "call fn"},
		{[]byte{0xbf, 0x40, 0x00, 0x10, 0xc0}, "mov $fn+0x40,%edi"},
		{[]byte{0x33, 0x82, 0x40, 0x00, 0x10, 0xc0}, "xor fn+0x40(%edx),%eax"},
		{[]byte{0x33, 0x04, 0x85, 0x40, 0x00, 0x10, 0xc0}, "xor fn+0x40(,%eax,4),%eax"},
		{[]byte{0xa1, 0x00, 0x00, 0x10, 0xc0}, "mov fn,%eax"},
		{[]byte{0x89, 0x0d, 0x00, 0x00, 0x10, 0xc0}, "mov %ecx,fn"},
	} {
		got, n := ISA32().Disasm(c.code, base+0x10, name)
		if got != c.want || n != len(c.code) {
			t.Errorf("% x: %q in %d bytes, want %q", c.code, got, n, c.want)
		}
	}
}
