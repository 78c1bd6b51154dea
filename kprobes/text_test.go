package kprobes

import (
	"debug/elf"
	"testing"

	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/internal/require"
)

// TestExtent ends a function behind its bytes. One without a size ends in front of the next symbol, or behind a page.
func TestExtent(t *testing.T) {
	e := imagetest.Kernel()
	e.Sections = []imagetest.Section{{Name: ".text", Addr: imagetest.Base, Size: 0x2000, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR}}
	e.Symbols = []imagetest.Symbol{
		{Name: "first", Addr: imagetest.Base, Section: ".text"},
		{Name: "second", Addr: imagetest.Base + 0x10, Section: ".text"},
		{Name: "last", Addr: imagetest.Base + 0x11, Section: ".text"},
	}
	im := require.Must(image.Load("made-up", e.Build()))(t)
	for _, x := range []struct{ at, size, want uint64 }{{0, 0, 0x10}, {0, 1, 1}, {0, 0x20, 0x20}, {0x10, 0, 1}, {0x11, 0, 0x1000}} {
		from := imagetest.Base + x.at
		require.Equal(t, extent(im, from, x.size), Span{from, from + x.want}, "a function of %d bytes at %#x", x.size, x.at)
	}
}
