package object

import (
	"debug/elf"
	"fmt"
	"strings"
)

// layout says where the parts of a module lie, from its start. Code comes first, with the stubs for its far calls,
// then constants, data, and what is zero. The init part, which nobody needs once the module is initialized, is last.
type layout struct {
	textEnd, initStart, initTextEnd, end uint64
	stubs                                uint64 // where they begin
	room                                 int    // for how many there is room
}

// pageBytes separates code from data, so that stores to data drop no decoded code.
const pageBytes = 0x1000

// part is a group of sections that lie together.
type part int

const (
	partText part = iota
	partConst
	partData
	partZero
	partInitText
	partInit
	parts
)

// partOf returns the group that a section belongs to.
func partOf(s *section) part {
	init, exec := strings.HasPrefix(s.name, ".init"), s.flags&elf.SHF_EXECINSTR != 0
	switch {
	case init && exec:
		return partInitText
	case init:
		return partInit
	case exec:
		return partText
	case s.typ == elf.SHT_NOBITS:
		return partZero
	case s.flags&elf.SHF_WRITE != 0:
		return partData
	}
	return partConst
}

// place gives every loaded section and every common symbol its place. Groups that differ in what may be done with them
// begin with a page.
func (o *Object) place() error {
	at := uint64(0)
	for p := range parts {
		if p == partConst || p == partInitText || p == partInit {
			at = up(at, pageBytes)
		}
		if p == partInitText {
			o.initStart = at
		}
		for i := range o.sections {
			s := &o.sections[i]
			if !s.loaded || partOf(s) != p {
				continue
			}
			at = up(at, s.align)
			s.at = at
			if s.size > maxBytes || at+s.size > maxBytes {
				return fmt.Errorf("section %s ends beyond %d bytes, the limit of a module", s.name, maxBytes)
			}
			at += s.size
		}
		var err error
		switch p {
		case partText:
			at, err = o.placeStubs(at)
			o.textEnd = at
		case partZero:
			at, err = o.placeCommon(at)
		case partInitText:
			o.initTextEnd = at
		}
		if err != nil {
			return err
		}
	}
	o.end = up(max(at, 1), pageBytes)
	return nil
}

func up(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// placeStubs keeps room for a stub for each symbol that a branch leads to.
func (o *Object) placeStubs(at uint64) (uint64, error) {
	if o.arch.stub == 0 {
		return at, nil
	}
	seen := map[uint32]bool{}
	for i := range o.sections {
		for _, r := range o.sections[i].relocs {
			if o.arch.branch(r.typ) {
				seen[r.symbol] = true
			}
		}
	}
	o.stubs, o.room = up(at, stubAlign), len(seen)
	at = o.stubs + uint64(len(seen)*o.arch.stub)
	if at > maxBytes {
		return 0, fmt.Errorf("%d far calls: more than the limit of a module of %d bytes has room for", len(seen), maxBytes)
	}
	return at, nil
}

const stubAlign = 16

// placeCommon gives common symbols their memory. The value of one is its alignment (chapter 4, Symbol Table).
func (o *Object) placeCommon(at uint64) (uint64, error) {
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.index != elf.SHN_COMMON {
			continue
		}
		align := max(s.value, 1)
		if align&(align-1) != 0 || align > maxAlign || s.size > maxBytes || up(at, align)+s.size > maxBytes {
			return 0, fmt.Errorf("common symbol %s: %d bytes aligned to %d are beyond the limit of a module of %d bytes",
				s.name, s.size, s.value, maxBytes)
		}
		at = up(at, align)
		s.common = at
		at += s.size
	}
	return at, nil
}

// Size returns how many bytes of memory the module takes: whole pages.
func (o *Object) Size() uint64 { return o.end }

// Value returns the value of a key of section .modinfo, and whether the module has it.
func (o *Object) Value(key string) (string, bool) {
	for _, kv := range o.Info {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			return v, true
		}
	}
	return "", false
}

// Functions returns the names in C of the functions that the file defines, in the order of its symbol table. The symbol of
// a function's code has a dot where the ABI has descriptors.
func (o *Object) Functions() []string {
	var out []string
	seen := map[string]bool{"": true}
	for i := range o.symbols {
		s := &o.symbols[i]
		if s.typ != elf.STT_FUNC || s.index == elf.SHN_UNDEF {
			continue
		}
		if name := strings.TrimPrefix(s.name, "."); !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}
