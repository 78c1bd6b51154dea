package image

import (
	"debug/elf"
	"fmt"
	"strings"
)

// Func is a function, or a label in code, in the forms that an ABI distinguishes. A caller of guest
// code needs Entry and TOC. What is stored where the guest keeps function pointers is Pointer.
// Probes are placed by Entry.
type Func struct {
	Name    string
	Entry   uint64 // address of its first instruction
	Pointer uint64 // what a pointer to it in C holds: the address of its descriptor where the ABI has them, else Entry
	TOC     uint64 // what the register of the table of contents holds in it, 0 where there is none
	Size    uint64 // bytes of code; 0 when the image does not say
	Typed   bool   // the symbol table calls it a function, not a label
}

// Function descriptors follow the 64-bit PowerPC ELF Application Binary Interface Supplement, version
// 1.9, section 3.2.2: three doublewords with the entry, the table of contents and the environment. The
// symbol name is the descriptor in section .opd, the code is at the symbol .name.
const (
	descriptorSection = ".opd"
	descriptorSize    = 24

	libraryDescriptors = ".opd.lib" // of the functions that modules call
	wordBytes          = 8
)

// Descriptors tells whether pointers to functions are addresses of descriptors. The section decides
// and not the machine alone: version 2 of the ABI has none on the same processors.
func (im *Image) Descriptors() bool {
	_, _, ok := im.Section(descriptorSection)
	return ok && im.Machine == elf.EM_PPC64
}

// Func finds a function by its name in C. That the symbol is code is not checked. Labels of assembly
// are found as well; callers that need a function ask Typed.
func (im *Image) Func(name string) (Func, bool) {
	s, ok := im.Symbol(name)
	if !ok {
		return Func{}, false
	}
	if !im.Descriptors() || !isDescriptors(s.Section) {
		return Func{Name: name, Entry: s.Addr, Pointer: s.Addr, Size: s.Size, Typed: s.Func}, true
	}
	f := Func{Name: name, Pointer: s.Addr, Typed: true}
	f.Entry, _ = im.word(s.Addr) // loadDescriptors has read both
	f.TOC, _ = im.word(s.Addr + wordBytes)
	if code, ok := im.Symbol(codeName(name)); ok {
		f.Size = code.Size
	}
	return f, true
}

// isDescriptors tells the section of descriptors of the kernel or of a module.
func isDescriptors(section string) bool {
	return section == descriptorSection || section == libraryDescriptors || strings.HasSuffix(section, moduleMark+descriptorSection)
}

// codeName is the name of the symbol of the code of a function that has a descriptor.
func codeName(name string) string {
	if i := strings.Index(name, moduleMark); i >= 0 {
		return name[:i+1] + "." + name[i+1:]
	}
	return "." + name
}

// Callee gives the entry of the function that a pointer in C leads to. Descriptors that the guest
// builds at run time are not followed: the image knows memory as linked.
func (im *Image) Callee(pointer uint64) uint64 {
	if !im.Descriptors() {
		return pointer
	}
	if s := im.sectionAt(pointer); s == nil || !isDescriptors(s.name) {
		return pointer
	}
	entry, _ := im.word(pointer)
	return entry
}

// word reads a doubleword of the image as linked. Bytes behind a segment's Data are zero in memory,
// but no descriptor lies there, so they count as absent.
func (im *Image) word(va uint64) (uint64, bool) {
	for i := range im.Segments {
		s := &im.Segments[i]
		if off, n := va-s.VA, uint64(len(s.Data)); va >= s.VA && n >= wordBytes && off <= n-wordBytes {
			return im.Order.Uint64(s.Data[off:]), true
		}
	}
	for i := range im.modules {
		m := &im.modules[i]
		if off, n := va-m.Base, uint64(len(m.Bytes)); va >= m.Base && n >= wordBytes && off <= n-wordBytes {
			return im.Order.Uint64(m.Bytes[off:]), true
		}
	}
	return 0, false
}

// loadDescriptors makes the symbols of descriptors data. Linkers since 2004 write no symbols for the code:
// those that are missing are added, with the size that the descriptor's symbol has for them. An entry point
// that is given by its descriptor becomes an address of code. It runs before the symbols are sorted
// and indexed, which its additions need as well.
func (im *Image) loadDescriptors() error {
	if !im.Descriptors() {
		return nil
	}
	have := map[string]bool{}
	for i := range im.Symbols {
		have[im.Symbols[i].Name] = true
	}
	for i := range im.Symbols {
		s := im.Symbols[i]
		if !isDescriptors(s.Section) || !s.Func {
			continue
		}
		im.Symbols[i].Func, im.Symbols[i].Size = false, descriptorSize
		entry, ok := im.word(s.Addr)
		if _, toc := im.word(s.Addr + wordBytes); !ok || !toc || !im.executable(entry) {
			return fmt.Errorf("function %s: its descriptor at %#x leads to no code: link it again", s.Name, s.Addr)
		}
		if !have["."+s.Name] {
			s.Name, s.Addr, s.Section = "."+s.Name, entry, im.SectionAt(entry)
			im.Symbols = append(im.Symbols, s)
		}
	}
	return nil
}

// In names the function or variable that an address lies in as C names it, one of a module behind the module's name, and says how many bytes behind
// its start the address is. Reports use it.
func (im *Image) In(addr uint64) (name string, off uint64, ok bool) {
	sym, off, ok := im.At(addr)
	return im.FullName(sym), off, ok
}

// CName is the name in C of the function whose code a symbol is. Comparisons with names of the
// guest's sources need it: a function has one name in C on all instruction sets.
func (im *Image) CName(symbol string) string {
	if im.Descriptors() {
		return strings.TrimPrefix(symbol, ".")
	}
	return symbol
}
