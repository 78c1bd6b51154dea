package object

import (
	"bytes"

	"kprobesim/internal/encoding"
)

// Word reads an address of the module's memory as it was linked; false where that is outside of the module.
func (m *Module) Word(addr uint64) (uint64, bool) {
	b, ok := m.at(addr, m.o.Bits/8)
	if !ok {
		return 0, false
	}
	return encoding.Uint(m.o.Order, b), true
}

// Int reads an integer of 32 bits.
func (m *Module) Int(addr uint64) (uint32, bool) {
	b, ok := m.at(addr, 4)
	if !ok {
		return 0, false
	}
	return m.o.Order.Uint32(b), true
}

// String reads a zero-terminated string; false where it does not end in the module.
func (m *Module) String(addr uint64) (string, bool) {
	from := min(addr-m.Base, uint64(len(m.Bytes)))
	text, _, ends := bytes.Cut(m.Bytes[from:], []byte{0})
	return string(text), ends
}

// at returns n bytes at an address.
func (m *Module) at(addr uint64, n int) ([]byte, bool) {
	off := addr - m.Base
	if off > uint64(len(m.Bytes)) || uint64(n) > uint64(len(m.Bytes))-off {
		return nil, false
	}
	return m.Bytes[off : off+uint64(n)], true
}

// Section returns the section of a name, and whether there is one with any bytes.
func (m *Module) Section(name string) (Section, bool) {
	for _, s := range m.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
}

// Symbol finds a symbol of the module by its name in C, a global one first.
func (m *Module) Symbol(name string) (found Defined, ok bool) {
	for _, s := range m.Symbols {
		if s.Name == name && (!ok || s.Global && !found.Global) {
			found, ok = s, true
		}
	}
	return found, ok
}

// Pointer returns what a name stands for when another module uses it: the value that a pointer in C holds.
func (m *Module) Pointer(value uint64) Symbol {
	s := Symbol{Value: value, Entry: value}
	if sec, ok := m.Section(descriptors); ok && m.o.arch.toc && value >= sec.Addr && value < sec.Addr+sec.Size {
		s.Entry, _ = m.Word(value)
		s.TOC = m.TOC
	}
	return s
}

// descriptors is the section of function descriptors.
const descriptors = ".opd"

// WordBytes is the size of an address in bytes.
func (m *Module) WordBytes() uint64 { return uint64(m.o.Bits / 8) }
