package linux

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
)

// Offsets of the header of a zImage (Documentation/arm/booting.rst; arch/arm/boot/compressed/head.S), and of the
// table that it points at: entries of a size in words, a tag and values, up to a size of zero.
const (
	zImageMagicAt = 0x24
	zImageMagic   = 0x016f2818
	zImageMoreAt  = 0x34
	zImageMore    = 0x45454545
	zImageTable   = 0x38
	zImageHead    = 0x3c
	kernelSizeTag = 0x5a534c4b // where the size of the kernel stands, bytes of .bss, offset of the kernel in memory
	kernelSizeLen = 5
)

// pageOffset is where kernels with CONFIG_VMSPLIT_3G map the beginning of memory.
const pageOffset = 0xc0000000

// isZImage reports whether a file is a kernel of ARM that unpacks itself.
func isZImage(b []byte) bool {
	return len(b) >= zImageHead && binary.LittleEndian.Uint32(b[zImageMagicAt:]) == zImageMagic
}

// readZImage unpacks a zImage. What is in it has no ELF header, and gets one.
func readZImage(b []byte, kept Keeper) ([]byte, error) {
	size, bss, offset, err := zImageSizes(b)
	if err != nil {
		return nil, err
	}
	// The size of the result stands behind the compressed bytes. Where they begin is not said: the unpacking code
	// before them has the magic in it, too.
	for at := range size {
		if !bytes.HasPrefix(b[at:size], []byte(compressions[0].magic)) {
			continue
		}
		raw, err := unpackKept(b[at:size+4], kept)
		if err == nil && uint32(len(raw)) == binary.LittleEndian.Uint32(b[size:]) {
			return wrap(raw, bss, offset), nil
		}
	}
	return nil, errors.New("has a payload of unknown compression: kernels of ARM that are packed by XZ are read")
}

// zImageSizes finds where the size of the unpacked kernel stands, how many bytes it needs behind itself, and how far behind
// the beginning of memory it lies.
func zImageSizes(b []byte) (size int, bss, offset uint32, err error) {
	word := func(at int) uint32 {
		if uint(at) > uint(len(b)-4) { // a sum may be negative where int has 32 bits
			return 0
		}
		return binary.LittleEndian.Uint32(b[at:])
	}
	at := int(word(zImageTable))
	if word(zImageMoreAt) != zImageMore {
		at = len(b)
	}
	for n := int(word(at)); n >= 2 && n <= len(b); n = int(word(at)) {
		if size = int(word(at + 8)); word(at+4) == kernelSizeTag && n >= kernelSizeLen && size <= len(b)-4 {
			return size, word(at + 12), word(at + 16), nil
		}
		at += 4 * n
	}
	return 0, 0, 0, errors.New("is a kernel of ARM without the table of its sizes: name a later one")
}

// wrap makes an ELF file of a kernel as it lies in memory. Physical addresses count from the beginning of memory.
func wrap(raw []byte, bss, offset uint32) []byte {
	const at, names = 0x1000, "\x00.kernel\x00.shstrtab\x00"
	var out bytes.Buffer
	put := func(v any) { _ = binary.Write(&out, binary.LittleEndian, v) } // a Buffer takes all
	h := elf.Header32{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_ARM), Version: uint32(elf.EV_CURRENT), Entry: offset,
		Ehsize: 52, Phoff: 52, Phentsize: 32, Phnum: 1, Shoff: 84, Shentsize: 40, Shnum: 3, Shstrndx: 2,
	}
	put(h)
	put(elf.Prog32{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W | elf.PF_X), Off: at, Vaddr: pageOffset + offset, Paddr: offset,
		Filesz: uint32(len(raw)), Memsz: uint32(len(raw)) + bss,
	})
	put([3]elf.Section32{
		{},
		{
			Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint32(elf.SHF_ALLOC | elf.SHF_EXECINSTR | elf.SHF_WRITE),
			Addr: pageOffset + offset, Off: at, Size: uint32(len(raw)),
		},
		{Name: 9, Type: uint32(elf.SHT_STRTAB), Off: 204, Size: uint32(len(names))},
	})
	out.WriteString(names)
	out.Write(make([]byte, at-out.Len()))
	out.Write(raw)
	return out.Bytes()
}

// wrapped is the one section of a kernel that came without any.
const wrapped = ".kernel"
