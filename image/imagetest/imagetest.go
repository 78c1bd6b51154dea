// Package imagetest writes a small guest kernel by hand, for tests of what reads images: package image
// itself, and the observers that name addresses by one.
package imagetest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// ELF describes a small 64-bit executable, for x86-64 if nothing is changed, that Build writes out. Tests change what they look at.
type ELF struct {
	Type     elf.Type
	Machine  elf.Machine
	Order    binary.ByteOrder
	Entry    uint64
	Data     map[int]uint64 // doublewords of the code segment by their offset in it; the rest is zero
	Progs    []elf.Prog64
	Sections []Section
	Symbols  []Symbol
}

// Section is a section header. Sections have no bytes of their own in the file.
type Section struct {
	Name       string
	Addr, Size uint64
	Flags      elf.SectionFlag
}

// Symbol is an entry of the symbol table; its section is given by name.
type Symbol struct {
	Name       string
	Addr, Size uint64
	Type       elf.SymType
	Bind       elf.SymBind
	Section    string
}

// The code of Kernel: its virtual address and the bytes of it that are in the file.
const (
	Base     = 0xffffffff80100000
	CodeSize = 0x400
)

const codeAt = 0x1000 // file offset of the bytes of the code segment

// Kernel is a kernel with two functions, a label, a native and some phases.
func Kernel() *ELF {
	const ax = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	return &ELF{
		Type: elf.ET_EXEC, Machine: elf.EM_X86_64, Order: binary.LittleEndian, Entry: Base,
		Progs: []elf.Prog64{{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W | elf.PF_X), Off: codeAt,
			Vaddr: Base, Paddr: 0x100000, Filesz: CodeSize, Memsz: 0x2000, Align: 0x1000,
		}},
		Sections: []Section{
			{".text", Base, 0x100, ax},
			{".native", Base + 0x100, 0x40, ax},
			{".phase.entry", Base + 0x140, 0x40, ax},
			{".workload", Base + 0x180, 0x40, ax},
			{".phase.entry.late", Base + 0x1d0, 0x10, ax},
			{".data", Base + 0x200, 0x200, elf.SHF_ALLOC | elf.SHF_WRITE},
			{".slots", Base + 0x1000, 0x100, ax},
			{".detours", Base + 0x1100, 0x100, ax},
			{".comment", 0, 0x10, 0},
		},
		Symbols: []Symbol{
			{"start", Base, 0x20, elf.STT_FUNC, elf.STB_GLOBAL, ".text"},
			{"_text", Base, 0, elf.STT_NOTYPE, elf.STB_GLOBAL, ".text"},
			{"outer", Base + 0x20, 0x60, elf.STT_FUNC, elf.STB_LOCAL, ".text"},
			{"label", Base + 0x30, 0, elf.STT_NOTYPE, elf.STB_LOCAL, ".text"},
			{"inner", Base + 0x40, 0x10, elf.STT_FUNC, elf.STB_LOCAL, ".text"},
			{"stub", Base + 0x90, 0, elf.STT_NOTYPE, elf.STB_LOCAL, ".text"},
			{"twice", Base + 0xa0, 0x10, elf.STT_FUNC, elf.STB_LOCAL, ".text"},
			{"twice", Base + 0xb0, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, ".text"},
			{"sim_main", Base + 0x100, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, ".native"},
			{"printk", Base + 0x120, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, ".native"},
			{"jiffies", Base + 0x200, 8, elf.STT_OBJECT, elf.STB_GLOBAL, ".data"},
			{"_end", Base + 0x2000, 0, elf.STT_NOTYPE, elf.STB_GLOBAL, ".data"},
		},
	}
}

// table is a string table that hands out offsets.
type table struct{ bytes.Buffer }

func (t *table) add(s string) uint32 {
	if t.Len() == 0 {
		t.WriteByte(0)
	}
	n := uint32(t.Len())
	t.WriteString(s)
	t.WriteByte(0)
	return n
}

// Build writes the file: headers, code, string tables, symbols, section headers.
func (e *ELF) Build() []byte {
	var names, strs table
	index := map[string]uint16{}
	heads := []elf.Section64{{}}
	for _, s := range e.Sections {
		index[s.Name] = uint16(len(heads))
		heads = append(heads, elf.Section64{
			Name: names.add(s.Name), Type: uint32(elf.SHT_NOBITS), Flags: uint64(s.Flags),
			Addr: s.Addr, Size: s.Size, Off: codeAt,
		})
	}
	syms := []elf.Sym64{{}}
	for _, s := range e.Symbols {
		syms = append(syms, elf.Sym64{
			Name: strs.add(s.Name), Info: elf.ST_INFO(s.Bind, s.Type), Shndx: index[s.Section],
			Value: s.Addr, Size: s.Size,
		})
	}
	strAt := uint64(codeAt + CodeSize)
	symAt := strAt + uint64(strs.Len())
	symSize := uint64(len(syms) * elf.Sym64Size)
	nameAt := symAt + symSize
	heads = append(heads,
		elf.Section64{
			Name: names.add(".strtab"), Type: uint32(elf.SHT_STRTAB), Off: strAt,
			Size: uint64(strs.Len()),
		},
		elf.Section64{
			Name: names.add(".symtab"), Type: uint32(elf.SHT_SYMTAB), Off: symAt, Size: symSize,
			Link: uint32(len(heads)), Entsize: elf.Sym64Size,
		})
	own := names.add(".shstrtab")
	heads = append(heads, elf.Section64{
		Name: own, Type: uint32(elf.SHT_STRTAB), Off: nameAt, Size: uint64(names.Len()),
	})
	head := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), e.dataOrder(), byte(elf.EV_CURRENT)}, Type: uint16(e.Type),
		Machine: uint16(e.Machine), Version: 1, Entry: e.Entry, Phoff: 64,
		Shoff: nameAt + uint64(names.Len()), Ehsize: 64, Phentsize: 56, Phnum: uint16(len(e.Progs)),
		Shentsize: 64, Shnum: uint16(len(heads)), Shstrndx: uint16(len(heads) - 1),
	}
	var out bytes.Buffer
	put := func(v any) { _ = binary.Write(&out, e.Order, v) } // a Buffer takes all
	put(head)
	put(e.Progs)
	out.Write(make([]byte, codeAt-out.Len()))
	out.Write(e.code())
	out.Write(strs.Bytes())
	put(syms)
	out.Write(names.Bytes())
	put(heads)
	return out.Bytes()
}

// dataOrder is the byte order as the header names it.
func (e *ELF) dataOrder() byte {
	if e.Order == binary.BigEndian {
		return byte(elf.ELFDATA2MSB)
	}
	return byte(elf.ELFDATA2LSB)
}

// code is the bytes of the code segment.
func (e *ELF) code() []byte {
	b := make([]byte, CodeSize)
	for at, v := range e.Data {
		e.Order.PutUint64(b[at:], v)
	}
	return b
}
