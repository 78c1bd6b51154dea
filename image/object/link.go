package object

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"kprobesim/internal/distinct"
	"kprobesim/internal/encoding"
)

// Symbol is the meaning of a name that a module does not define.
type Symbol struct {
	Value uint64 // what a pointer in C to it holds
	Entry uint64 // of a function: its first instruction; else Value
	TOC   uint64 // of a function where the ABI has a table of contents
}

// Resolve finds what another part of the system defines.
type Resolve func(name string) (Symbol, bool)

// Module is an object file at its address: every relocation has been applied.
type Module struct {
	Base     uint64
	Bytes    []byte // all of its memory, zeros included
	Text     Span   // code and stubs
	InitText Span   // code that runs once
	Init     Span   // all that is needed once
	TOC      uint64 // 0 where the ABI has none
	Sections []Section
	Symbols  []Defined
	Used     []string // the names that were resolved elsewhere, each once, in the order of their use

	o *Object
}

// Span is a range of addresses, End excluded.
type Span struct{ Start, End uint64 }

// Section is a section in memory.
type Section struct {
	Name        string
	Addr, Size  uint64
	Exec, Write bool
}

// Defined is a symbol that the module defines. A function's is that of its descriptor where the ABI has them.
type Defined struct {
	Name       string
	Addr, Size uint64
	Func       bool
	Global     bool
	Section    string
}

// maxErrors bounds how many mistakes of a module are reported.
const maxErrors = 10

// linker is the work on one module.
type linker struct {
	o       *Object
	m       *Module
	resolve Resolve
	stubs   map[Symbol]uint64 // by what they lead to
	errs    []error
	missing map[string]bool
}

// Link lays the module out at an address, which must begin a page, and applies its relocations. The error lists what
// cannot be done, each with section, offset, symbol and the name of the relocation.
func (o *Object) Link(base uint64, resolve Resolve) (*Module, error) {
	if base%pageBytes != 0 || o.Bits == 32 && base+o.end > 1<<32 || base+o.end < base {
		return nil, fmt.Errorf("object file %s: address %#x is no place for %#x bytes", o.Name, base, o.end)
	}
	m := &Module{
		Base: base, Bytes: make([]byte, o.end), o: o, Text: Span{base, base + o.textEnd},
		InitText: Span{base + o.initStart, base + o.initTextEnd}, Init: Span{base + o.initStart, base + o.end},
	}
	l := &linker{o: o, m: m, resolve: resolve, stubs: map[Symbol]uint64{}, missing: map[string]bool{}}
	l.fill()
	l.define()
	if o.arch.begin != nil {
		o.arch.begin(l)
	}
	for i := range o.sections {
		for _, r := range o.sections[i].relocs {
			l.apply(&o.sections[i], r)
		}
	}
	if len(l.errs) > 0 {
		return nil, fmt.Errorf("object file %s: %w", o.Name, errors.Join(l.errs...))
	}
	return m, nil
}

// fill copies the sections.
func (l *linker) fill() {
	for i := range l.o.sections {
		s := &l.o.sections[i]
		if !s.loaded || s.size == 0 {
			continue
		}
		copy(l.m.Bytes[s.at:s.at+s.size], s.data)
		l.m.Sections = append(l.m.Sections, Section{
			s.name, l.m.Base + s.at, s.size, s.flags&elf.SHF_EXECINSTR != 0, s.flags&elf.SHF_WRITE != 0,
		})
	}
	slices.SortFunc(l.m.Sections, func(a, b Section) int { return int(a.Addr) - int(b.Addr) })
}

// define lists the symbols of the module for who names addresses.
func (l *linker) define() {
	for i := range l.o.symbols {
		s := &l.o.symbols[i]
		addr, sec, ok := l.address(s)
		if !ok || s.name == "" || s.typ == elf.STT_SECTION || s.typ == elf.STT_FILE || s.name[0] == '$' {
			continue
		}
		l.m.Symbols = append(l.m.Symbols, Defined{
			s.name, addr, s.size, s.typ == elf.STT_FUNC, s.bind != elf.STB_LOCAL, sec,
		})
	}
}

// address returns where a symbol of the module lies; false for one that it does not define or does not load.
func (l *linker) address(s *symbol) (addr uint64, section string, ok bool) {
	switch {
	case s.index == elf.SHN_COMMON:
		return l.m.Base + s.common, ".bss", true
	case s.index == elf.SHN_ABS:
		return s.value, "", true
	case s.index == elf.SHN_UNDEF || s.index >= elf.SHN_LORESERVE:
		return 0, "", false
	}
	sec := &l.o.sections[s.index]
	return l.m.Base + sec.at + s.value, sec.name, sec.loaded
}

// fix is one relocation with everything that its rule asks for.
type fix struct {
	l      *linker
	sec    *section
	reloc  // whose addend is A
	sym    *symbol
	target Symbol // S
	ours   bool   // the module defines the symbol
	place  uint64 // P
}

// errRefused tells a relocation that a kernel does not apply.
var errRefused = errors.New("is not applied to modules")

// apply applies one relocation and keeps its error with the place.
func (l *linker) apply(sec *section, r reloc) {
	f := &fix{l: l, sec: sec, reloc: r, sym: &l.o.symbols[r.symbol], place: l.m.Base + sec.at + r.off}
	if r.typ == 0 || len(l.errs) >= maxErrors { // type 0 does nothing in every supplement
		return
	}
	if !f.find() {
		return
	}
	if err := l.o.arch.apply(f); err != nil {
		l.fail(f, err)
	}
}

func (l *linker) fail(f *fix, err error) {
	name := cmp.Or(f.sym.name, "no symbol")
	l.errs = append(l.errs, fmt.Errorf("%s+%#x: %s against %s: %w", f.sec.name, f.off, l.o.arch.name(f.typ), name, err))
}

// find resolves the symbol of a relocation. A weak one that nobody defines is 0.
func (f *fix) find() bool {
	l, s := f.l, f.sym
	if f.symbol == 0 {
		f.ours = true
		return true
	}
	if addr, _, ok := l.address(s); ok {
		f.target, f.ours = Symbol{addr, addr, l.m.TOC}, true
		return true
	}
	if s.index != elf.SHN_UNDEF {
		l.fail(f, errors.New("the symbol is in a section that is not loaded, or of a kind that is not known"))
		return false
	}
	t, ok := l.resolve(s.name)
	switch {
	case ok:
		f.target = t
		l.m.Used = distinct.Append(l.m.Used, s.name)
	case s.bind == elf.STB_WEAK:
	case l.missing[s.name]:
		return false
	default:
		l.missing[s.name] = true
		l.fail(f, fmt.Errorf("nobody exports a symbol of this name: declare it as the kernel's headers do, "+
			"or load the module that exports it first"))
		return false
	}
	return true
}

// bytes returns n bytes at the place.
func (f *fix) bytes(n int) ([]byte, error) {
	if f.off > f.sec.size || uint64(n) > f.sec.size-f.off {
		return nil, fmt.Errorf("%d bytes there lie outside of the section's %d: damaged: compile it again", n, f.sec.size)
	}
	at := f.sec.at + f.off
	return f.l.m.Bytes[at : at+uint64(n)], nil
}

// check says which values fit into a field that is narrower than an address.
type check int

const (
	anyValue check = iota
	signedValue
	unsignedValue
	eitherValue // a field that is read with or without sign
)

// fits reports whether a value fits into a number of bits.
func (c check) fits(v int64, bits int) bool {
	signed := v>>(bits-1) == v>>63
	unsigned := uint64(v)>>bits == 0
	switch c {
	case signedValue:
		return signed
	case unsignedValue:
		return unsigned
	case eitherValue:
		return signed || unsigned
	}
	return true
}

// overflow is the error of a value that does not fit.
func overflow(v int64, bits int) error {
	return fmt.Errorf("value %#x does not fit into %d bits: compile the module with the options that "+
		"`kprobesim headers` writes", uint64(v), bits)
}

// put stores a value of a number of bytes.
func (f *fix) put(bytes int, v uint64, c check) error {
	b, err := f.bytes(bytes)
	if err != nil {
		return err
	}
	if !c.fits(int64(v), 8*bytes) {
		return overflow(int64(v), 8*bytes)
	}
	encoding.PutUint(f.l.o.Order, b, v)
	return nil
}

// word reads an instruction or an addend of 32 bits.
func (f *fix) word() (uint32, error) {
	b, err := f.bytes(4)
	if err != nil {
		return 0, err
	}
	return f.l.o.Order.Uint32(b), nil
}

// absolute is S + A, and relative S + A - P.
func (f *fix) absolute() uint64 { return f.target.Value + uint64(f.addend) }
func (f *fix) relative() uint64 { return f.absolute() - f.place }

// stub returns the address of the stub that leads to a target, made by code when it is the first one.
func (l *linker) stub(to Symbol, code func(at uint64) []byte) (uint64, error) {
	if at, ok := l.stubs[to]; ok {
		return at, nil
	}
	n := len(l.stubs)
	if n >= l.o.room {
		return 0, errors.New("no room is left for a stub")
	}
	off := l.o.layout.stubs + uint64(n*l.o.arch.stub)
	copy(l.m.Bytes[off:], code(l.m.Base+off))
	l.stubs[to] = l.m.Base + off
	return l.m.Base + off, nil
}
