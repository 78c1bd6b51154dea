package image

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"kprobesim/internal/elffile"
)

// Image is a guest kernel as linked: what to put where in memory, and what its symbol table and
// debug information say about addresses and structures. It never changes after Load, so
// machines that run at the same time may share one.
type Image struct {
	Name    string // as given to Load, for messages
	Machine elf.Machine
	Bits    int // width of an address: 32 or 64
	Order   binary.ByteOrder
	Entry   uint64 // virtual address of the first instruction

	Segments []Segment // sorted by PA, no two overlap
	Symbols  []Symbol  // every named symbol with an address, sorted by Addr, then Name
	Natives  []Symbol  // one per used slot of section .native, sorted by Addr

	sections []section        // that occupy memory, sorted by addr
	byName   map[string]int32 // indices into Symbols
	spans    []span           // non-overlapping address ranges, sorted
	lines    lineTable
	types    typeTable

	modules []Module // in the order of loading
	kernel  *Image   // as it was without them; nil without any
}

// Segment is a piece of guest memory filled from the image; bytes behind Data, up to MemSize, are
// zero. It is a program header of type PT_LOAD (chapter 5 of the ABI, Program Header). The loader of
// package sim copies it to PA; the page tables that lead from VA there come from the board, but for
// pages of user mode.
type Segment struct {
	VA, PA      uint64
	Data        []byte // read-only, part of the bytes given to Load
	MemSize     uint64
	Exec, Write bool
	User        bool // of sections .user.*: user mode may reach it
}

// section is an ELF section that has addresses at run time. Segments say what is loaded, sections
// what it is for: phases, native slots, user mode.
type section struct {
	name       string
	phase      Phase
	addr, size uint64
	exec       bool
}

// Load reads a statically linked ELF executable. b stays in use and must not change. Errors
// name the file, what is wrong with it and what to do; damaged files never panic.
func Load(name string, b []byte) (*Image, error) {
	im := &Image{Name: name}
	if err := advice().Guard(func() error { return im.load(b) }); err != nil {
		return nil, fmt.Errorf("image %s: %w", name, err)
	}
	return im, nil
}

// advice says what to do about a file that cannot be read.
func advice() elffile.Advice {
	return elffile.Advice{Foreign: "name a linked guest kernel", Damaged: "build or copy it again"}
}

// The order matters: the entry is checked against sections, symbols against sections too, and lines
// against executable ones.
func (im *Image) load(b []byte) error {
	f, err := im.open(b)
	if err != nil {
		return err
	}
	if err := im.checkEntry(); err != nil {
		return err
	}
	if err := im.markUser(); err != nil {
		return err
	}
	if err := im.loadSymbols(f); err != nil {
		return err
	}
	return im.loadDebug(f)
}

// open reads what every kernel has: its header, segments and sections.
func (im *Image) open(b []byte) (*elf.File, error) {
	f, err := advice().Open(b)
	if err == nil {
		err = im.loadHeader(f)
	}
	if err == nil {
		err = im.loadSegments(f, b)
	}
	if err == nil {
		err = im.loadSections(f)
	}
	return f, err
}

// loadHeader takes what the ELF header says of the machine.
func (im *Image) loadHeader(f *elf.File) error {
	im.Machine, im.Order, im.Entry = f.Machine, f.ByteOrder, f.Entry
	im.Bits = 32
	if f.Class == elf.ELFCLASS64 {
		im.Bits = 64
	}
	return checkHeader(f)
}

// guestMachine is one kind of ELF file that a guest kernel may be.
type guestMachine struct {
	machine elf.Machine
	class   elf.Class
	data    elf.Data
}

// checkHeader refuses what no machine of the simulator could run. The instruction set, width and
// byte order are in e_machine and e_ident (chapter 4 of the ABI, ELF Header). A list of whole
// combinations refuses what exists elsewhere, such as little-endian ppc64.
func checkHeader(f *elf.File) error {
	known := []guestMachine{
		{elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB},
		{elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB},
		{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2MSB},
		{elf.EM_ARM, elf.ELFCLASS32, elf.ELFDATA2LSB},
	}
	if !slices.Contains(known, guestMachine{f.Machine, f.Class, f.Data}) {
		return fmt.Errorf("is for a foreign machine (%v, %v, %v): guests are x86-64, i386, "+
			"big-endian ppc64 or little-endian ARM", f.Machine, f.Class, f.Data)
	}
	switch f.Type {
	case elf.ET_EXEC:
		return nil
	case elf.ET_DYN:
		return errors.New("is position independent (ET_DYN), not an executable at fixed " +
			"addresses: link it with -static -no-pie")
	case elf.ET_REL:
		return errors.New("is an object file (ET_REL), not executable: link it")
	}
	return fmt.Errorf("is not executable (%v): name a linked guest kernel", f.Type)
}

// Match tells whether a machine of the given kind can run the image. The simulator calls it before
// it builds a machine, because code of another instruction set would decode into nonsense rather
// than fail.
func (im *Image) Match(machine elf.Machine, bits int, order binary.ByteOrder) error {
	if im.Machine == machine && im.Bits == bits && im.Order == order {
		return nil
	}
	return fmt.Errorf("image %s is for %v (%d bits, %v), the machine is %v (%d bits, %v): "+
		"choose another image or machine", im.Name, im.Machine, im.Bits, im.Order,
		machine, bits, order)
}
