package object

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/internal/elffile"
)

// Object is an object file that was read and laid out. It never changes after Read, so machines that run at the same
// time may share one.
type Object struct {
	Name    string // as given to Read, for messages
	Machine elf.Machine
	Bits    int // width of an address: 32 or 64
	Order   binary.ByteOrder
	Info    []string // "key=value" strings of section .modinfo, in their order

	arch     *arch
	sections []section // by their index in the file
	symbols  []symbol  // by their index in the file; 0 is none
	layout
}

// section is a section header with its bytes.
type section struct {
	name   string
	typ    elf.SectionType
	flags  elf.SectionFlag
	size   uint64
	align  uint64
	data   []byte // part of the file; nil for SHT_NOBITS
	relocs []reloc
	loaded bool
	at     uint64 // from the start of the module
}

// symbol is an entry of the symbol table.
type symbol struct {
	name   string
	value  uint64
	size   uint64
	typ    elf.SymType
	bind   elf.SymBind
	index  elf.SectionIndex
	common uint64 // place of a common symbol, from the start of the module
}

// reloc is a relocation entry. The addend of one without its own is in the bytes that it changes.
type reloc struct {
	off    uint64
	typ    uint32
	symbol uint32
	addend int64
}

// Limits on what is read: a kernel's modules are far below them.
const (
	maxBytes    = 16 << 20 // of a module in memory
	maxAlign    = 64 << 10
	maxSections = 1 << 14
)

// Read reads an object file. b stays in use and must not change. Errors name the file, what is wrong with it and what
// to do.
func Read(name string, b []byte) (*Object, error) {
	o := &Object{Name: name}
	if err := advice().Guard(func() error { return o.read(b) }); err != nil {
		return nil, fmt.Errorf("object file %s: %w", name, err)
	}
	return o, nil
}

// advice says what to do about a file that cannot be read.
func advice() elffile.Advice {
	return elffile.Advice{Foreign: "compile a module with `gcc -c`", Damaged: "compile it again"}
}

func (o *Object) read(b []byte) error {
	f, err := advice().Open(b)
	if err != nil {
		return err
	}
	o.Machine, o.Order, o.Bits = f.Machine, f.ByteOrder, 32
	if f.Class == elf.ELFCLASS64 {
		o.Bits = 64
	}
	if o.arch = archOf(f); o.arch == nil {
		return fmt.Errorf("is for a foreign machine (%v, %v, %v): modules are x86-64, i386, big-endian ppc64 "+
			"or little-endian ARM", f.Machine, f.Class, f.Data)
	}
	if f.Type != elf.ET_REL {
		return fmt.Errorf("is no object file (%v): compile the module with -c and do not link it", f.Type)
	}
	if err := o.readSections(f, b); err != nil {
		return err
	}
	if err := o.readSymbols(f); err != nil {
		return err
	}
	if err := o.readRelocs(f, b); err != nil {
		return err
	}
	return o.place()
}

// readSections takes the headers, and the bytes of what they describe as parts of the file.
func (o *Object) readSections(f *elf.File, b []byte) error {
	if len(f.Sections) > maxSections {
		return fmt.Errorf("%d sections: more than %d are not read", len(f.Sections), maxSections)
	}
	for _, s := range f.Sections {
		sec := section{name: s.Name, typ: s.Type, flags: s.Flags, size: s.FileSize, align: max(s.Addralign, 1)}
		if s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			data, err := bytesOf(b, s)
			if err != nil {
				return err
			}
			sec.data = data
		}
		sec.loaded = s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NULL && !unloaded(s.Name)
		switch {
		case !sec.loaded:
		case sec.align&(sec.align-1) != 0 || sec.align > maxAlign:
			return fmt.Errorf("section %s is aligned to %d bytes: powers of two up to %d are loaded", s.Name, sec.align, maxAlign)
		case s.Flags&elf.SHF_COMPRESSED != 0:
			return fmt.Errorf("section %s is compressed: compile it without", s.Name)
		case s.Flags&elf.SHF_TLS != 0:
			return fmt.Errorf("section %s is of thread-local storage, which kernels do not have: take __thread away", s.Name)
		}
		if s.Name == ".modinfo" {
			o.Info = strings.FieldsFunc(string(sec.data), func(r rune) bool { return r == 0 })
		}
		o.sections = append(o.sections, sec)
	}
	return nil
}

// bytesOf returns the bytes of a section in the file.
func bytesOf(b []byte, s *elf.Section) ([]byte, error) {
	if s.Offset > uint64(len(b)) || s.FileSize > uint64(len(b))-s.Offset {
		return nil, fmt.Errorf("section %s: the file is truncated: compile it again", s.Name)
	}
	end := s.Offset + s.FileSize
	return b[s.Offset:end:end], nil
}

// unloaded tells sections that nothing in the guest reads: strings for the loader, and tables for unwinding stacks.
func unloaded(name string) bool {
	heads := []string{".modinfo", ".eh_frame", ".ARM.exidx", ".ARM.extab", ".note", ".comment"}
	return slices.ContainsFunc(heads, func(head string) bool { return strings.HasPrefix(name, head) })
}

// readSymbols keeps the order of the table, because relocations name symbols by number.
func (o *Object) readSymbols(f *elf.File) error {
	syms, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("damaged symbol table (%w): compile it again", err)
	}
	o.symbols = append(o.symbols, symbol{})
	for _, s := range syms {
		n := symbol{
			name: s.Name, value: s.Value, size: s.Size, index: s.Section,
			typ: elf.ST_TYPE(s.Info), bind: elf.ST_BIND(s.Info),
		}
		if n.typ == elf.STT_SECTION && int(n.index) < len(o.sections) {
			n.name = o.sections[n.index].name
		}
		if n.index < elf.SHN_LORESERVE && int(n.index) >= len(o.sections) {
			return fmt.Errorf("symbol %s is of section %d of %d: damaged: compile it again", s.Name, n.index, len(o.sections))
		}
		o.symbols = append(o.symbols, n)
	}
	return nil
}

// readRelocs reads the tables for sections that are loaded. Tables of debug information are passed over.
func (o *Object) readRelocs(f *elf.File, b []byte) error {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_REL && s.Type != elf.SHT_RELA {
			continue
		}
		if int(s.Info) >= len(o.sections) {
			return fmt.Errorf("section %s is for section %d of %d: damaged: compile it again", s.Name, s.Info, len(o.sections))
		}
		to := &o.sections[s.Info]
		if !to.loaded {
			continue
		}
		if (s.Type == elf.SHT_RELA) != o.arch.rela {
			return fmt.Errorf("section %s is %v, which compilers for %v do not write: compile it again", s.Name, s.Type, o.Machine)
		}
		if to.typ == elf.SHT_NOBITS {
			return fmt.Errorf("section %s relocates %s, which has no bytes: damaged: compile it again", s.Name, to.name)
		}
		data, err := bytesOf(b, s)
		if err != nil {
			return err
		}
		if err := o.addRelocs(to, data, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// addRelocs reads one table. An entry is an offset, a word with symbol and type, and an addend where the format has one.
func (o *Object) addRelocs(to *section, data []byte, name string) error {
	word := o.Bits / 8
	size := 2 * word
	if o.arch.rela {
		size += word
	}
	if len(data)%size != 0 {
		return fmt.Errorf("section %s has %d bytes, no multiple of %d: damaged: compile it again", name, len(data), size)
	}
	for ; len(data) > 0; data = data[size:] {
		var r reloc
		if word == 8 {
			info := o.Order.Uint64(data[8:])
			r = reloc{off: o.Order.Uint64(data), typ: uint32(info), symbol: uint32(info >> 32)}
			if o.arch.rela {
				r.addend = int64(o.Order.Uint64(data[16:]))
			}
		} else {
			info := o.Order.Uint32(data[4:])
			r = reloc{off: uint64(o.Order.Uint32(data)), typ: info & 0xff, symbol: info >> 8}
		}
		if int64(r.symbol) >= int64(len(o.symbols)) {
			return fmt.Errorf("section %s, offset %#x: symbol %d of %d: damaged: compile it again", name, r.off, r.symbol, len(o.symbols))
		}
		to.relocs = append(to.relocs, r)
	}
	return nil
}
