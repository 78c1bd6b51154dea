package linux

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/internal/require"
)

// TestWidth tells files of kernels by their first bytes.
func TestWidth(t *testing.T) {
	head := func(class elf.Class) []byte {
		b := make([]byte, HeadSize)
		copy(b, elf.ELFMAG)
		b[elf.EI_CLASS] = byte(class)
		return b
	}
	image := func(magic string, version uint16, flags byte) []byte {
		b := make([]byte, HeadSize)
		copy(b[setupMagic:], magic)
		binary.LittleEndian.PutUint16(b[setupVersion:], version)
		b[setupFlags] = flags
		return b
	}
	for _, x := range []struct {
		name string
		head []byte
		want int
	}{
		{"an ELF file of 64 bits", head(elf.ELFCLASS64), 64},
		{"an ELF file of 32 bits", head(elf.ELFCLASS32), 32},
		{"a short ELF file", head(elf.ELFCLASS64)[:HeadSize-1], 0},
		{"zeroes", make([]byte, HeadSize), 0},
		{"nothing", nil, 0},
		{"another magic number", image("Hdrs", 0x20c, 1), 0},
		{"a kernel with an entry of 64 bits", image("HdrS", 0x20c, 1), 64},
		{"a later one", image("HdrS", 0x20f, 0x7f), 64},
		{"one without it", image("HdrS", 0x20f, 0x7e), 32},
		{"an old one, whose byte means something else", image("HdrS", 0x20b, 1), 32},
	} {
		got := Width(x.head)
		require.That(t, got == x.want, "%s: %d bits, want %d", x.name, got, x.want)
	}
}
