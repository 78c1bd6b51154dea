package linux

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"kprobesim/image"
	"kprobesim/image/imagetest"
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

// TestVersion takes the release of the header, or else what the kernel says, at its symbol or anywhere.
func TestVersion(t *testing.T) {
	const banner = "Linux version "
	e := imagetest.Kernel()
	text := banner + "5.1-x (of us)\x00\x00\x00"
	e.Data = map[int]uint64{}
	for i := range len(text) / 8 {
		e.Data[0x200+8*i] = binary.LittleEndian.Uint64([]byte(text)[8*i:])
	}
	file := e.Build()
	named := func(name string) *image.Image {
		return require.Must(image.LoadBare("k", file, func(*image.Image) ([]image.Symbol, error) {
			return []image.Symbol{{Name: "z", Addr: 9}, {Name: name, Addr: imagetest.Base + 0x200}}, nil
		}))(t)
	}
	other := slices.Concat([]byte(banner+"4.9 "), file)
	for _, x := range []struct {
		release, symbol string
		file            []byte
		want            string
	}{
		{"6.1-y (them)", "linux_banner", file, "6.1-y"},
		{"6.1-y", "none", file, "6.1-y"},
		{"", "linux_banner", other, "5.1-x"},
		{"", "none", other, "4.9"},
		{"", "none", nil, ""},
		{"", "none", []byte(banner + strings.Repeat("5", 200)), strings.Repeat("5", 114)},
	} {
		k := &Kernel{Image: named(x.symbol), File: x.file}
		k.Release = x.release
		require.Equal(t, k.Version(), x.want, "a kernel whose header has %q, with symbol %s", x.release, x.symbol)
	}
}
