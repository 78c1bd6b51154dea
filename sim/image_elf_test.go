package sim

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// testELF describes a small x86-64 executable that build writes out by hand.
type testELF struct {
	typ      elf.Type
	machine  elf.Machine
	entry    uint64
	progs    []elf.Prog64
	sections []testSection
	symbols  []testSymbol
}

type testSection struct {
	name       string
	addr, size uint64
	flags      elf.SectionFlag
}

type testSymbol struct {
	name        string
	addr, size  uint64
	typ         elf.SymType
	bind        elf.SymBind
	sectionName string
}

const (
	testBase = 0xffffffff80100000
	codeAt   = 0x1000 // file offset of the bytes of the code segment
	codeSize = 0x400
)

// goodELF is a kernel with two functions, a label, a native and some phases.
func goodELF() *testELF {
	const ax = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	return &testELF{
		typ: elf.ET_EXEC, machine: elf.EM_X86_64, entry: testBase,
		progs: []elf.Prog64{{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W | elf.PF_X), Off: codeAt,
			Vaddr: testBase, Paddr: 0x100000, Filesz: codeSize, Memsz: 0x2000, Align: 0x1000,
		}},
		sections: []testSection{
			{".text", testBase, 0x100, ax},
			{".native", testBase + 0x100, 0x40, ax},
			{".phase.entry", testBase + 0x140, 0x40, ax},
			{".workload", testBase + 0x180, 0x40, ax},
			{".phase.entry.late", testBase + 0x1d0, 0x10, ax},
			{".data", testBase + 0x200, 0x200, elf.SHF_ALLOC | elf.SHF_WRITE},
			{".slots", testBase + 0x1000, 0x100, ax},
			{".detours", testBase + 0x1100, 0x100, ax},
			{".comment", 0, 0x10, 0},
		},
		symbols: []testSymbol{
			{"start", testBase, 0x20, elf.STT_FUNC, elf.STB_GLOBAL, ".text"},
			{"_text", testBase, 0, elf.STT_NOTYPE, elf.STB_GLOBAL, ".text"},
			{"outer", testBase + 0x20, 0x60, elf.STT_FUNC, elf.STB_LOCAL, ".text"},
			{"label", testBase + 0x30, 0, elf.STT_NOTYPE, elf.STB_LOCAL, ".text"},
			{"inner", testBase + 0x40, 0x10, elf.STT_FUNC, elf.STB_LOCAL, ".text"},
			{"stub", testBase + 0x90, 0, elf.STT_NOTYPE, elf.STB_LOCAL, ".text"},
			{"twice", testBase + 0xa0, 0x10, elf.STT_FUNC, elf.STB_LOCAL, ".text"},
			{"twice", testBase + 0xb0, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, ".text"},
			{"sim_main", testBase + 0x100, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, ".native"},
			{"printk", testBase + 0x120, 0x10, elf.STT_FUNC, elf.STB_GLOBAL, ".native"},
			{"jiffies", testBase + 0x200, 8, elf.STT_OBJECT, elf.STB_GLOBAL, ".data"},
			{"_end", testBase + 0x2000, 0, elf.STT_NOTYPE, elf.STB_GLOBAL, ".data"},
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

// build writes the file: headers, code, string tables, symbols, section headers.
func (e *testELF) build() []byte {
	var names, strs table
	index := map[string]uint16{}
	heads := []elf.Section64{{}}
	for _, s := range e.sections {
		index[s.name] = uint16(len(heads))
		heads = append(heads, elf.Section64{
			Name: names.add(s.name), Type: uint32(elf.SHT_NOBITS), Flags: uint64(s.flags),
			Addr: s.addr, Size: s.size, Off: codeAt,
		})
	}
	syms := []elf.Sym64{{}}
	for _, s := range e.symbols {
		syms = append(syms, elf.Sym64{
			Name: strs.add(s.name), Info: elf.ST_INFO(s.bind, s.typ), Shndx: index[s.sectionName],
			Value: s.addr, Size: s.size,
		})
	}
	strAt := uint64(codeAt + codeSize)
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
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(e.typ),
		Machine: uint16(e.machine), Version: 1, Entry: e.entry, Phoff: 64,
		Shoff: nameAt + uint64(names.Len()), Ehsize: 64, Phentsize: 56, Phnum: uint16(len(e.progs)),
		Shentsize: 64, Shnum: uint16(len(heads)), Shstrndx: uint16(len(heads) - 1),
	}
	var out bytes.Buffer
	put := func(v any) { _ = binary.Write(&out, binary.LittleEndian, v) } // a Buffer takes all
	put(head)
	put(e.progs)
	out.Write(make([]byte, codeAt+codeSize-out.Len()))
	out.Write(strs.Bytes())
	put(syms)
	out.Write(names.Bytes())
	put(heads)
	return out.Bytes()
}
