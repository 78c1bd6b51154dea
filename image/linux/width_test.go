package linux

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/internal/require"
)

// TestMachine tells files of kernels by their first bytes.
func TestMachine(t *testing.T) {
	head := func(machine elf.Machine) []byte {
		b := make([]byte, HeadSize)
		copy(b, elf.ELFMAG)
		b[18] = byte(machine)
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
		want elf.Machine
	}{
		{"an ELF file of 64 bits", head(elf.EM_X86_64), elf.EM_X86_64},
		{"an ELF file of 32 bits", head(elf.EM_386), elf.EM_386},
		{"a short ELF file", head(elf.EM_X86_64)[:HeadSize-1], elf.EM_NONE},
		{"an image of ARM", append(binary.LittleEndian.AppendUint32(make([]byte, zImageMagicAt), zImageMagic), make([]byte, HeadSize)...), elf.EM_ARM},
		{"zeroes", make([]byte, HeadSize), elf.EM_NONE},
		{"nothing", nil, elf.EM_NONE},
		{"another magic number", image("Hdrs", 0x20c, 1), elf.EM_NONE},
		{"a kernel with an entry of 64 bits", image("HdrS", 0x20c, 1), elf.EM_X86_64},
		{"a later one", image("HdrS", 0x20f, 0x7f), elf.EM_X86_64},
		{"one without it", image("HdrS", 0x20f, 0x7e), elf.EM_386},
		{"an old one, whose byte means something else", image("HdrS", 0x20b, 1), elf.EM_386},
	} {
		got := Machine(x.head)
		require.That(t, got == x.want, "%s: %s, want %s", x.name, got, x.want)
	}
}
