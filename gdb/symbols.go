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

// Symbols makes an ELF file for gdb of a kernel that has none of its own: symbols alone, in a section that covers them.
func Symbols(im *image.Image) []byte {
	f := symbolFile{im: im}
	symbols, lo, hi := f.symbols()
	f.sections = []elf.Section64{{}, {
		Name: f.name(".text"), Type: uint32(elf.SHT_NOBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: lo, Size: hi - lo, Addralign: 1,
	}}
	head := 64
	if im.Bits == 32 {
		head = 52
	}
	f.out.Write(make([]byte, head))
	f.add(".symtab", elf.SHT_SYMTAB, symbols, elf.Section64{Link: 3, Info: 1, Entsize: uint64(len(symbols) / (len(im.Symbols) + 1)), Addralign: 8})
	strtab := f.name(".strtab")
	f.add("", elf.SHT_STRTAB, f.names.Bytes(), elf.Section64{Name: strtab, Addralign: 1})
	return f.finish(head)
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

// symbols returns the table of symbols, and the addresses that they cover.
func (f *symbolFile) symbols() (table []byte, lo, hi uint64) {
	var b bytes.Buffer
	lo = ^uint64(0)
	f.symbol(&b, elf.Sym64{})
	for _, s := range f.im.Symbols {
		typ := elf.STT_OBJECT
		if s.Func {
			typ = elf.STT_FUNC
			lo, hi = min(lo, s.Addr), max(hi, s.Addr+max(s.Size, 1))
		}
		f.symbol(&b, elf.Sym64{Name: f.name(s.Name), Info: elf.ST_INFO(elf.STB_GLOBAL, typ), Shndx: 1, Value: s.Addr, Size: s.Size})
	}
	return b.Bytes(), min(lo, hi), hi
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
func (f *symbolFile) add(name string, typ elf.SectionType, b []byte, s elf.Section64) {
	if name != "" {
		s.Name = f.name(name)
	}
	s.Type, s.Off, s.Size = uint32(typ), uint64(f.out.Len()), uint64(len(b))
	f.out.Write(b)
	f.sections = append(f.sections, s)
}

// finish writes the table of sections and the header.
func (f *symbolFile) finish(head int) []byte {
	at, h := f.out.Len(), elf.Header64{Version: 1, Type: uint16(elf.ET_EXEC), Machine: uint16(f.im.Machine), Shstrndx: 3}
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
	copy(f.out.Bytes()[:head], b.Bytes())
	return f.out.Bytes()
}
