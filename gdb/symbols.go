package gdb

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"kprobesim/image"
)

// symbolFile is an ELF file under way.
type symbolFile struct {
	im       *image.Image
	out      bytes.Buffer
	names    bytes.Buffer // of symbols and of sections
	sections []elf.Section64
}

// Symbols makes an ELF file for gdb of a kernel that has none of its own: its symbols, and its segments without bytes.
func Symbols(im *image.Image) []byte {
	f := symbolFile{im: im, sections: []elf.Section64{{}}}
	for _, s := range im.Segments {
		f.sections = append(f.sections, elf.Section64{
			Name: f.name(".segment"), Type: uint32(elf.SHT_NOBITS), Flags: uint64(elf.SHF_ALLOC), Addr: s.VA, Size: s.MemSize,
		})
	}
	f.out.Write(make([]byte, binary.Size(elf.Header64{}))) // the smaller header has room there, too
	table := f.symbols()
	strings := uint32(len(f.sections) + 1)
	f.add(elf.Section64{
		Name: f.name(".symtab"), Type: uint32(elf.SHT_SYMTAB), Link: strings, Info: 1, Entsize: uint64(len(table) / (len(im.Symbols) + 1)), Addralign: 8,
	}, table)
	own := elf.Section64{Name: f.name(".strtab"), Type: uint32(elf.SHT_STRTAB)}
	f.add(own, f.names.Bytes())
	return f.finish()
}

// name adds a name and returns where it stands. The first byte is the empty name.
func (f *symbolFile) name(s string) uint32 {
	if f.names.Len() == 0 {
		f.names.WriteByte(0)
	}
	at := f.names.Len()
	f.names.WriteString(s + "\x00")
	return uint32(at)
}

// symbols returns the table of symbols.
func (f *symbolFile) symbols() []byte {
	var b bytes.Buffer
	f.symbol(&b, elf.Sym64{})
	for _, s := range f.im.Symbols {
		typ := elf.STT_OBJECT
		if s.Func {
			typ = elf.STT_FUNC
		}
		section := f.section(s.Addr)
		if s.Func { // kernels have code in segments of data
			f.sections[section].Flags |= uint64(elf.SHF_EXECINSTR)
		}
		f.symbol(&b, elf.Sym64{Name: f.name(s.Name), Info: elf.ST_INFO(elf.STB_GLOBAL, typ), Shndx: section, Value: s.Addr, Size: s.Size})
	}
	return b.Bytes()
}

// section returns the number of the section that an address lies in.
func (f *symbolFile) section(addr uint64) uint16 {
	for i, s := range f.im.Segments {
		if addr-s.VA < s.MemSize {
			return uint16(i + 1)
		}
	}
	return 1 // as good as any: gdb takes no function of none
}

// symbol writes an entry of the table, in the form of the class.
func (f *symbolFile) symbol(to *bytes.Buffer, s elf.Sym64) {
	if f.im.Bits == 32 {
		f.put(to, elf.Sym32{Name: s.Name, Value: uint32(s.Value), Size: uint32(s.Size), Info: s.Info, Shndx: s.Shndx})
		return
	}
	f.put(to, s)
}

// put writes a structure; a buffer takes all.
func (f *symbolFile) put(to *bytes.Buffer, v any) { _ = binary.Write(to, f.im.Order, v) }

// add adds a section with bytes.
func (f *symbolFile) add(s elf.Section64, b []byte) {
	s.Off, s.Size = uint64(f.out.Len()), uint64(len(b))
	f.out.Write(b)
	f.sections = append(f.sections, s)
}

// finish writes the table of sections and the header.
func (f *symbolFile) finish() []byte {
	at, h := f.out.Len(), elf.Header64{Version: 1, Type: uint16(elf.ET_EXEC), Machine: uint16(f.im.Machine), Shstrndx: uint16(len(f.sections) - 1)}
	class, order := elf.ELFCLASS64, elf.ELFDATA2LSB
	if f.im.Order.Uint16([]byte{0, 1}) == 1 {
		order = elf.ELFDATA2MSB
	}
	var b bytes.Buffer
	if f.im.Bits == 32 {
		class = elf.ELFCLASS32
	}
	h.Ident = [16]byte{0x7f, 'E', 'L', 'F', byte(class), byte(order), byte(elf.EV_CURRENT)}
	for _, s := range f.sections {
		if f.im.Bits == 64 {
			f.put(&f.out, s)
			continue
		}
		f.put(&f.out, elf.Section32{
			Name: s.Name, Type: s.Type, Flags: uint32(s.Flags), Addr: uint32(s.Addr), Off: uint32(s.Off), Size: uint32(s.Size),
			Link: s.Link, Info: s.Info, Addralign: uint32(s.Addralign), Entsize: uint32(s.Entsize),
		})
	}
	if f.im.Bits == 64 {
		h.Shoff, h.Ehsize, h.Shentsize, h.Shnum = uint64(at), 64, 64, uint16(len(f.sections))
		f.put(&b, h)
	} else {
		f.put(&b, elf.Header32{
			Ident: h.Ident, Type: h.Type, Machine: h.Machine, Version: 1, Shoff: uint32(at), Ehsize: 52, Shentsize: 40,
			Shnum: uint16(len(f.sections)), Shstrndx: h.Shstrndx,
		})
	}
	copy(f.out.Bytes(), b.Bytes())
	return f.out.Bytes()
}
