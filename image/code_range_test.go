package image

import (
	"testing"

	"kprobesim/internal/require"
)

// The code of a kernel lies from the first byte of its first executable section to the last byte of its last one, and
// a module has that of its kernel.
func TestCodeRange(t *testing.T) {
	for _, c := range []struct {
		sections    []section
		start, size uint64
	}{
		{nil, 0, 0},
		{[]section{{addr: 0x1000, size: 0x10}}, 0, 0},
		{[]section{{addr: 0x1000, size: 0x10, exec: true}}, 0x1000, 0x10},
		{[]section{{addr: 0x1000, size: 1, exec: true}}, 0x1000, 1},
		{[]section{{addr: 0x3000, size: 0x20, exec: true}, {addr: 0x1000, size: 0x10, exec: true}, {addr: 0x9000, size: 0x10}}, 0x1000, 0x2020},
		{[]section{{addr: 0x1000, size: 0x4000, exec: true}, {addr: 0x2000, size: 0x10, exec: true}}, 0x1000, 0x4000},
		{[]section{{addr: ^uint64(0xfff), size: 0x1000, exec: true}}, ^uint64(0xfff), 0x1000},
	} {
		kernel := &Image{sections: c.sections}
		for name, im := range map[string]*Image{"kernel": kernel, "module": {kernel: kernel, sections: []section{{addr: 8, size: 8, exec: true}}}} {
			start, size := im.CodeRange()
			require.That(t, start == c.start && size == c.size, "%s with %+v: %#x, %#x bytes; want %#x, %#x", name, c.sections, start, size, c.start, c.size)
		}
	}
}
