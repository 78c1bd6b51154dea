package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/image/imagetest"
	"kprobesim/internal/require"
)

const (
	opdAt = imagetest.Base + 0x200 // in the place of .data
	toc   = imagetest.Base + 0x8200
)

// descriptors is a kernel for big-endian ppc64 with two functions that are called by descriptors: begin,
// whose code has a symbol, and modern, whose code has none. A third symbol, text_label, is no function.
func descriptors() *imagetest.ELF {
	e := imagetest.Kernel()
	e.Machine, e.Order, e.Entry = elf.EM_PPC64, binary.BigEndian, opdAt
	e.Sections[5] = imagetest.Section{Name: ".opd", Addr: opdAt, Size: 48, Flags: elf.SHF_ALLOC | elf.SHF_WRITE}
	e.Data = map[int]uint64{
		0x200: imagetest.Base, 0x208: toc, 0x210: 0,
		0x218: imagetest.Base + 0x20, 0x220: toc, 0x228: 0,
	}
	f := func(name string, at, size uint64, typ elf.SymType, section string) imagetest.Symbol {
		return imagetest.Symbol{Name: name, Addr: at, Size: size, Type: typ, Bind: elf.STB_GLOBAL, Section: section}
	}
	e.Symbols = []imagetest.Symbol{
		f("begin", opdAt, 24, elf.STT_FUNC, ".opd"),
		f(".begin", imagetest.Base, 0x20, elf.STT_FUNC, ".text"),
		f("modern", opdAt+24, 0x60, elf.STT_FUNC, ".opd"),
		f("text_label", imagetest.Base+0x30, 0, elf.STT_NOTYPE, ".text"),
		f(".sim_main", imagetest.Base+0x100, 16, elf.STT_FUNC, ".native"),
	}
	return e
}

func TestFunc(t *testing.T) {
	im := loadGood(t)
	want := Func{Name: "outer", Entry: imagetest.Base + 0x20, Pointer: imagetest.Base + 0x20, Size: 0x60, Typed: true}
	f, ok := im.Func("outer")
	require.That(t, ok && f == want, "outer is %+v, %v", f, ok)
	if f, ok := im.Func("label"); !ok || f.Typed || f.Entry != imagetest.Base+0x30 {
		t.Errorf("label is %+v, %v", f, ok)
	}
	if f, ok := im.Func("nothing"); ok {
		t.Errorf("nothing is %+v", f)
	}
	require.That(t, !im.Descriptors() && im.Callee(opdAt) == opdAt && im.CName(".x") == ".x", "an x86-64 image has descriptors")
}

func TestFuncWithDescriptors(t *testing.T) {
	im := require.Must(Load("ppc64.elf", descriptors().Build()))(t)
	for _, want := range []Func{
		{Name: "begin", Entry: imagetest.Base, Pointer: opdAt, TOC: toc, Size: 0x20, Typed: true},
		{Name: "modern", Entry: imagetest.Base + 0x20, Pointer: opdAt + 24, TOC: toc, Size: 0x60, Typed: true},
		{Name: "text_label", Entry: imagetest.Base + 0x30, Pointer: imagetest.Base + 0x30},
	} {
		f, ok := im.Func(want.Name)
		require.That(t, ok && f == want, "%s is %+v, %v", want.Name, f, ok)
		require.Equal(t, im.Callee(want.Pointer), want.Entry, "a pointer to %s leads to", want.Name)
	}
	if !im.Descriptors() || im.Entry != imagetest.Base {
		t.Errorf("descriptors %v, entry %#x", im.Descriptors(), im.Entry)
	}
	s, off, ok := im.At(imagetest.Base + 0x24)
	require.That(t, ok && s.Name == ".modern" && off == 4 && im.CName(s.Name) == "modern", "code of modern is in %s+%#x", s.Name, off)
	if s, _, _ := im.At(opdAt + 30); s.Name != "modern" || s.Func {
		t.Errorf("the descriptor of modern is %+v", s)
	}
	// A module's function gets a symbol of its code, unless the module has one.
	const mod = imagetest.Base + 0x10000
	m := Module{
		Name: "m", Base: mod, Bytes: binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0x40), mod), mod+0x20),
		Sections: []ModuleSection{{".text", mod, 0x40, true}, {".opd", mod + 0x40, 0x30, false}},
		Symbols: []Symbol{
			NewSymbol("new", mod+0x40, 0x20, true, true, ".opd"), NewSymbol("old", mod+0x48, 0x18, true, true, ".opd"),
			NewSymbol(".old", mod+0x20, 0x10, true, true, ".text"),
		},
	}
	require.NoError(t, im.AddModule(m))
	for at, want := range map[uint64]string{mod + 4: "m:.new", mod + 0x24: "m:.old", mod + 0x40: "m:new"} {
		s, _, ok := im.At(at)
		require.That(t, ok && s.Module+":"+s.Name == want, "%#x is in %s:%s, want %s", at, s.Module, s.Name, want)
	}
	f, _ := im.Func("m:old")
	require.Equal(t, f.Size, uint64(0x10), "the size of a module's function is that of its code")
	require.That(t, len(im.Natives) == 1 && im.Natives[0].Name == "sim_main", "natives are %+v", im.Natives)
}

func TestDamagedDescriptors(t *testing.T) {
	for name, change := range map[string]func(*imagetest.ELF){
		"to data":       func(e *imagetest.ELF) { e.Data[0x218] = 0x1000 },
		"not in a file": func(e *imagetest.ELF) { e.Symbols[2].Addr, e.Sections[5].Size = opdAt+0x300, 0x400 },
		"cut":           func(e *imagetest.ELF) { e.Symbols[2].Addr, e.Sections[5].Size = opdAt+0x1f8, 0x400 },
	} {
		e := descriptors()
		change(e)
		require.Error(t, require.Err(Load("bad.elf", e.Build())), "function modern: its descriptor", "%s", name)
	}
	e := descriptors()
	e.Data[0x200] = 8
	_, err := Load("bad.elf", e.Build())
	require.That(t, err != nil && bytes.Contains([]byte(err.Error()), []byte("entry 0x8")), "entry: error %v", err)
}

// TestSplitName takes names apart as FullName puts them together.
func TestSplitName(t *testing.T) {
	for _, s := range []Symbol{{Name: "fn"}, {Name: "fn", Module: "mod"}} {
		module, name := SplitName((&Image{}).FullName(s))
		require.That(t, module == s.Module && name == s.Name, "%+v: %q, %q", s, module, name)
	}
}

// TestWords reads doublewords that lie in a segment, up to its last byte.
func TestWords(t *testing.T) {
	im := &Image{Order: binary.BigEndian, Segments: []Segment{{VA: 0x1000, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}, {VA: 0x2000, Data: make([]byte, 12)}, {VA: 0x3000, Data: make([]byte, 4)}}}
	for va, there := range map[uint64]bool{0xfff: false, 0x1000: true, 0x1001: false, 0x2000: true, 0x2004: true, 0x2005: false, 0x3000: false} {
		v, ok := im.word(va)
		require.That(t, ok == there && (va != 0x1000 || v == 0x0102030405060708), "at %#x: %#x, %v", va, v, ok)
	}
}
