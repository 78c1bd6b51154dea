package object

import "debug/elf"

// arch holds the relocations of an instruction set, from its supplement.
type arch struct {
	rela   bool // entries have addends of their own
	stub   int  // bytes of a stub for a far call, 0 where calls reach everything
	toc    bool // functions have descriptors and a table of contents
	name   func(typ uint32) string
	branch func(typ uint32) bool // relocates a call that may need a stub; nil where stub is 0
	begin  func(l *linker)       // before the first relocation; may be nil
	apply  func(f *fix) error
}

// archOf returns the rules for a file, nil for one of a foreign machine.
func archOf(f *elf.File) *arch {
	type kind struct {
		machine elf.Machine
		class   elf.Class
		data    elf.Data
	}
	switch (kind{f.Machine, f.Class, f.Data}) {
	case kind{elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB}:
		return &arch{rela: true, name: name64, apply: apply64}
	case kind{elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB}:
		return &arch{name: name32, apply: apply32}
	case kind{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2MSB}:
		return &arch{
			rela: true, stub: powerStub, toc: true, name: namePower, branch: branchPower, begin: beginPower, apply: applyPower,
		}
	case kind{elf.EM_ARM, elf.ELFCLASS32, elf.ELFDATA2LSB}:
		return &arch{stub: armStub, name: nameARM, branch: branchARM, apply: applyARM}
	}
	return nil
}
