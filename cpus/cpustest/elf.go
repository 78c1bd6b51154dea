package cpustest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/mmu"
)

const (
	page   = 0x1000
	inPage = page - 1
)

// Segment is a part of an executable: data at a virtual address, and zeros behind it up to a size in bytes.
type Segment struct {
	At    uint64
	Flags elf.ProgFlag
	Data  []byte
	Size  uint64
}

// Executable returns the bytes of a static ELF file of 32 or 64 bits for Linux. Flags are the file's, which name
// the ABI. Entry follows the ABI: an instruction's address, or a descriptor's.
func Executable(bits int, order binary.ByteOrder, machine elf.Machine, flags uint32, entry uint64, segs []Segment) []byte {
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, order, v) } // a buffer takes everything
	class, data := elf.ELFCLASS64, elf.ELFDATA2LSB
	if bits == 32 {
		class = elf.ELFCLASS32
	}
	if order == binary.ByteOrder(binary.BigEndian) {
		data = elf.ELFDATA2MSB
	}
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(class), byte(data), byte(elf.EV_CURRENT)}
	version, kind := uint32(elf.EV_CURRENT), uint16(elf.ET_EXEC)
	n := uint16(len(segs))
	if bits == 32 {
		put(elf.Header32{
			Ident: ident, Type: kind, Machine: uint16(machine), Version: version, Entry: uint32(entry), Phoff: 52,
			Flags: flags, Ehsize: 52, Phentsize: 32, Phnum: n,
		})
	} else {
		put(elf.Header64{
			Ident: ident, Type: kind, Machine: uint16(machine), Version: version, Entry: entry, Phoff: 64,
			Flags: flags, Ehsize: 64, Phentsize: 56, Phnum: n,
		})
	}
	offset := uint64(page)
	for _, s := range segs {
		put(header(bits, offset, s))
		offset += (uint64(len(s.Data)) + inPage) &^ inPage
	}
	for _, s := range segs {
		b.Write(make([]byte, (page-b.Len()&inPage)&inPage))
		b.Write(s.Data)
	}
	return b.Bytes()
}

// header is a segment's, whose data lie at an offset of the file.
func header(bits int, offset uint64, s Segment) any {
	held := uint64(len(s.Data))
	size := max(s.Size, held)
	if bits == 32 {
		return elf.Prog32{
			Type: uint32(elf.PT_LOAD), Off: uint32(offset), Vaddr: uint32(s.At), Paddr: uint32(s.At),
			Filesz: uint32(held), Memsz: uint32(size), Flags: uint32(s.Flags), Align: page,
		}
	}
	return elf.Prog64{
		Type: uint32(elf.PT_LOAD), Off: offset, Vaddr: s.At, Paddr: s.At, Filesz: held, Memsz: size, Flags: uint32(s.Flags), Align: page,
	}
}

// Program is an executable of user mode and where its pages lie.
type Program struct {
	Entry uint64 // as the file has it
	Maps  []mmu.Mapping
	parts []part
}

type part struct {
	pa   uint64
	data []byte
}

// LoadProgram reads an ELF file and gives it pages from physical address at on. All can be written and executed.
func LoadProgram(tb testing.TB, file string, at uint64) *Program {
	tb.Helper()
	f, err := elf.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	p := &Program{Entry: f.Entry}
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD {
			continue
		}
		data := make([]byte, s.Filesz)
		if _, err := s.ReadAt(data, 0); err != nil {
			tb.Fatal(err)
		}
		skip := s.Vaddr & inPage
		size := (skip + s.Memsz + inPage) &^ inPage
		p.Maps = append(p.Maps, mmu.Mapping{VA: s.Vaddr - skip, PA: at, Size: size, User: true, Writable: true, Exec: true})
		p.parts = append(p.parts, part{at + skip, data})
		at += size
	}
	return p
}

// Write puts the program's pages into memory.
func (p *Program) Write(m *mmu.Memory) {
	for _, x := range p.parts {
		m.Write(x.pa, x.data)
	}
}
