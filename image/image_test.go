package image

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/image/imagetest"
	"kprobesim/internal/require"
)

func loadGood(t *testing.T) *Image {
	t.Helper()
	im := require.Must(Load("good.elf", imagetest.Kernel().Build()))(t)
	return im
}

func TestLoad(t *testing.T) {
	im := loadGood(t)
	if im.Machine != elf.EM_X86_64 || im.Bits != 64 || im.Order != binary.LittleEndian ||
		im.Entry != imagetest.Base {
		t.Errorf("header: %v %d bits %v entry %#x", im.Machine, im.Bits, im.Order, im.Entry)
	}
	require.Need(t, len(im.Segments) == 1, "%d segments, want 1", len(im.Segments))
	s := im.Segments[0]
	if s.VA != imagetest.Base || s.PA != 0x100000 || len(s.Data) != imagetest.CodeSize || s.MemSize != 0x2000 ||
		!s.Exec || !s.Write {
		t.Errorf("segment is %#x at %#x, %d of %d bytes", s.VA, s.PA, len(s.Data), s.MemSize)
	}
	if err := im.Match(elf.EM_X86_64, 64, binary.LittleEndian); err != nil {
		t.Error(err)
	}
	require.That(t, im.Match(elf.EM_PPC64, 64, binary.BigEndian) != nil, "an x86-64 image matches a ppc64 machine")
}

func TestSymbolAt(t *testing.T) {
	im := loadGood(t)
	for _, c := range []struct {
		at   uint64
		name string
		off  uint64
	}{
		{0x0, "start", 0}, // not _text, which is only a label there
		{0x1f, "start", 0x1f},
		{0x20, "outer", 0},
		{0x30, "outer", 0x10}, // a label inside a function is no function
		{0x40, "inner", 0},
		{0x4f, "inner", 0xf},
		{0x50, "outer", 0x30}, // outer goes on behind inner
		{0x7f, "outer", 0x5f},
		{0x80, "", 0}, // padding
		{0x90, "stub", 0},
		{0x9f, "stub", 0xf}, // reaches to the next symbol
		{0xa0, "twice", 0},
		{0xc0, "", 0},
		{0x207, "jiffies", 7},
		{0x2000, "", 0}, // _end is behind its section
		{^uint64(0) - imagetest.Base, "", 0},
	} {
		sym, off, ok := im.At(imagetest.Base + c.at)
		require.That(t, sym.Name == c.name && off == c.off && ok == (c.name != ""), "At(+%#x) = %q+%#x, %v; want %q+%#x", c.at, sym.Name, off, ok, c.name, c.off)
	}
	name, start := im.SymbolOff(imagetest.Base + 0x25)
	require.That(t, name == "outer" && start == imagetest.Base+0x20, "SymbolOff = %q, %#x", name, start)
	_, _, ok := im.At(0)
	require.That(t, !ok, "address 0 has a symbol")
	e := imagetest.Kernel() // with per-CPU data, linked at 0
	e.Sections = append(e.Sections, imagetest.Section{Name: ".percpu", Size: 0x100, Flags: elf.SHF_ALLOC})
	e.Symbols = append(e.Symbols,
		imagetest.Symbol{Name: "current", Size: 8, Type: elf.STT_OBJECT, Bind: elf.STB_GLOBAL, Section: ".percpu"})
	im = require.Must(Load("percpu.elf", e.Build()))(t)
	if sym, off, ok := im.At(1); sym.Name != "current" || off != 1 || !ok {
		t.Errorf("At(1) = %s+%#x, %v", sym.Name, off, ok)
	}
	if name, _ := im.SymbolOff(1); name != "" {
		t.Errorf("the operand 1 reads as an offset into %s", name)
	}
}

func TestSymbolByName(t *testing.T) {
	im := loadGood(t)
	for name, at := range map[string]uint64{
		"start": 0, "_text": 0, "label": 0x30, "twice": 0xb0, "_end": 0x2000, "jiffies": 0x200,
	} {
		s, ok := im.Symbol(name)
		require.That(t, ok && s.Addr == imagetest.Base+at && s.Name == name, "Symbol(%q) = %+v, %v; want address +%#x", name, s, ok, at)
	}
	for _, name := range []string{"", "a", "zzz", "outer2"} {
		s, ok := im.Symbol(name)
		require.That(t, !ok, "Symbol(%q) = %+v, want none", name, s)
	}
	require.That(t, len(im.Natives) == 2 && im.Natives[0].Name == "sim_main" && im.Natives[1].Name == "printk", "natives are %v", im.Natives)
}

func TestPhase(t *testing.T) {
	im := loadGood(t)
	for at, want := range map[uint64]Phase{
		0: PhaseKernel, 0x100: PhaseKernel, 0x140: PhaseEntry, 0x17f: PhaseEntry, 0x180: PhaseWorkload,
		0x1c0: PhaseKernel, 0x1d0: PhaseEntry, 0x1e0: PhaseKernel, 0x1000: PhaseStep, 0x10ff: PhaseStep,
		0x1100: PhaseDetour, 0x5000: PhaseKernel,
	} {
		require.Equal(t, im.Phase(imagetest.Base+at), want, "Phase(+%#x)", at)
	}
	require.Equal(t, phaseEnd.String(), fmt.Sprint("phase ", uint8(phaseEnd)), "a phase that is none")
	addr, size, ok := im.Section(".slots")
	require.That(t, addr == imagetest.Base+0x1000 && size == 0x100 && ok, ".slots is %#x bytes at %#x", size, addr)
	if _, _, ok := im.Section(".comment"); ok {
		t.Error(".comment has no address, but Section found one")
	}
}

// addUser adds a page for user mode.
func addUser(e *imagetest.ELF) {
	p := e.Progs[0]
	p.Vaddr, p.Paddr, p.Filesz, p.Memsz = 0x400000, 0x10000, 0x10, 0x10
	p.Flags = uint32(elf.PF_R | elf.PF_X)
	e.Progs = append(e.Progs, p)
	e.Sections = append(e.Sections, imagetest.Section{
		Name: ".user.text", Addr: 0x400000, Size: 0x10, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR,
	})
}

func TestUserSegment(t *testing.T) {
	e := imagetest.Kernel()
	addUser(e)
	im := require.Must(Load("user.elf", e.Build()))(t)
	s := im.Segments
	require.That(t, len(s) == 2 && s[0].User && s[0].VA == 0x400000 && !s[1].User, "segments are %+v", s)
	require.Equal(t, im.Phase(0x400008), PhaseUser, "code of user mode is in phase")
}

func TestLoadErrors(t *testing.T) {
	change := func(f func(*imagetest.ELF)) []byte {
		e := imagetest.Kernel()
		f(e)
		return e.Build()
	}
	good := imagetest.Kernel().Build()
	for _, c := range []struct {
		name, want string
		b          []byte
	}{
		{"empty", "file is empty", nil},
		{"text", "is no ELF file", []byte("#!/bin/sh\n")},
		{"magic only", "truncated", good[:4]},
		{"header cut", "truncated", good[:40]},
		{"sections cut", "truncated", good[:len(good)-1]},
		{"half", "truncated", good[:len(good)/2]},
		{"foreign", "foreign machine (EM_RISCV", change(func(e *imagetest.ELF) { e.Machine = elf.EM_RISCV })},
		{"object", "object file", change(func(e *imagetest.ELF) { e.Type = elf.ET_REL })},
		{"shared", "-no-pie", change(func(e *imagetest.ELF) { e.Type = elf.ET_DYN })},
		{"core", "not executable", change(func(e *imagetest.ELF) { e.Type = elf.ET_CORE })},
		{"no segments", "no segment to load", change(func(e *imagetest.ELF) { e.Progs = nil })},
		{"segment cut", "segment 0: file is truncated", change(func(e *imagetest.ELF) {
			e.Progs[0].Filesz, e.Progs[0].Memsz = 1<<20, 1<<20
		})},
		{"segment far", "truncated", change(func(e *imagetest.ELF) { e.Progs[0].Off = 1<<63 - 1 })},
		{"small memory", "damaged", change(func(e *imagetest.ELF) { e.Progs[0].Memsz = 8 })},
		{"wrap", "address space", change(func(e *imagetest.ELF) { e.Progs[0].Memsz = 1<<64 - 1 })},
		{"section wrap", "address space", change(func(e *imagetest.ELF) { e.Sections[4].Addr = 1<<64 - 8 })},
		{"overlap", "overlap", change(func(e *imagetest.ELF) {
			e.Progs = append(e.Progs, e.Progs[0])
			e.Progs[1].Paddr += 0x1fff
		})},
		{"dynamic", "-static", change(func(e *imagetest.ELF) {
			e.Progs = append(e.Progs, elf.Prog64{Type: uint32(elf.PT_INTERP)})
		})},
		{"user page", "section .user.text for user mode does not begin with a page (0x400010", change(func(e *imagetest.ELF) {
			addUser(e)
			e.Progs[1].Vaddr += 0x10
			e.Sections[len(e.Sections)-1].Addr += 0x10
		})},
		{"phase", "section .phase.entri: there is no phase \"entri\"", change(func(e *imagetest.ELF) {
			e.Sections[2].Name = ".phase.entri"
		})},
		{"entry", "entry 0x10", change(func(e *imagetest.ELF) { e.Entry = 0x10 })},
		{"native place", "native printk", change(func(e *imagetest.ELF) { e.Symbols[9].Addr += 8 })},
		{"native twice", "share the slot", change(func(e *imagetest.ELF) { e.Symbols[9].Addr -= 0x20 })},
	} {
		im, err := Load("bad.elf", c.b)
		if err == nil || im != nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		require.That(t, strings.HasPrefix(err.Error(), "image bad.elf: ") && strings.Contains(err.Error(), c.want), "%s: %q does not name the file and %q", c.name, err, c.want)
	}
	for bits, last := range map[int]uint64{32: 1<<32 - 1, 64: 1<<64 - 1} {
		im := &Image{Bits: bits}
		err := im.addSegment(elf.ProgHeader{Vaddr: last, Paddr: last, Memsz: 1}, nil)
		require.That(t, err == nil, "a segment that ends with the addresses of %d bits: %v", bits, err)
		require.That(t, im.addSegment(elf.ProgHeader{Vaddr: last, Paddr: last, Memsz: 2}, nil) != nil, "a segment that ends behind the addresses of %d bits is taken", bits)
	}
	top := change(func(e *imagetest.ELF) { e.Sections[4].Addr = -e.Sections[4].Size })
	_, err := Load("top.elf", top)
	require.That(t, err == nil, "a section that ends with the address space: %v", err)
}

func TestNoDebugInformation(t *testing.T) {
	im := loadGood(t)
	_, _, ok := im.Line(imagetest.Base)
	require.That(t, !ok, "an image without DWARF has lines")
	require.Error(t, require.Err(im.Struct("kprobe")), "-g", "a structure")
	require.Error(t, require.Err(im.Enum("TASK_DEAD")), "-g", "a constant")
}

// TestLoadBare takes symbols from elsewhere, in any order, and their error.
func TestLoadBare(t *testing.T) {
	file := imagetest.Kernel().Build()
	im := require.Must(LoadBare("k", file, func(im *Image) ([]Symbol, error) {
		return []Symbol{{Name: "b", Addr: im.Entry + 8}, {Name: "a", Addr: im.Entry}}, nil
	}))(t)
	a, ok := im.Symbol("a")
	require.That(t, ok && a.Addr == imagetest.Base && im.Symbols[0] == a, "a is %+v, %v", a, ok)
	for _, flags := range []elf.ProgFlag{elf.PF_R, elf.PF_R | elf.PF_W, elf.PF_R | elf.PF_X} {
		e := imagetest.Kernel()
		e.Progs[0].Flags = uint32(flags)
		s := require.Must(LoadBare("k", e.Build(), func(*Image) ([]Symbol, error) { return nil, nil }))(t).Segments[0]
		require.That(t, s.Exec == (flags&elf.PF_X != 0) && s.Write == (flags&elf.PF_W != 0), "flags %v: executed %v, written %v", flags, s.Exec, s.Write)
	}
	b := im.Bytes(imagetest.Base+8, 16)
	require.That(t, len(b) == 16 && cap(b) == 16 && &b[0] == &im.Segments[0].Data[8], "16 bytes are %d of %d", len(b), cap(b))
	require.That(t, len(im.Bytes(imagetest.Base, imagetest.CodeSize)) == imagetest.CodeSize && im.Bytes(imagetest.Base, imagetest.CodeSize+1) == nil &&
		im.Bytes(imagetest.Base-1, 1) == nil && im.Bytes(imagetest.Base+imagetest.CodeSize, 0) == nil, "bytes outside of the file")
	require.Error(t, require.Err(LoadBare("k", file, func(*Image) ([]Symbol, error) { return nil, errors.New("none") })), "image k: none", "no symbols")
	require.Error(t, require.Err(LoadBare("k", file[:40], nil)), "image k: ", "a cut file")
}

// TestBetter takes code before data, then what has a size, then what is global.
func TestBetter(t *testing.T) {
	im, rank := &Image{}, []int{}
	for _, size := range []uint64{0, 1, 2} {
		for bits := range 4 {
			s := Symbol{Func: bits&1 != 0, Size: size, global: bits&2 != 0}
			im.Symbols = append(im.Symbols, s)
			rank = append(rank, bits&1*4+min(int(size), 1)*2+bits>>1)
		}
	}
	for i := range rank {
		for j := range rank {
			require.Equal(t, im.better(i, j), rank[i] > rank[j], "%+v before %+v", im.Symbols[i], im.Symbols[j])
		}
	}
}
