package image

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// maxAddr is the last address of an image with addresses of the given width. Checks subtract from
// it, because a sum of address and size may wrap.
func (im *Image) maxAddr() uint64 { return ^uint64(0) >> (64 - im.Bits) }

// loadSegments collects what is to be copied into guest memory. Relocation, which a dynamic loader
// would do, is left out, so what asks for one is refused. The overlap check wants the order by
// physical address.
func (im *Image) loadSegments(f *elf.File, b []byte) error {
	for i, p := range f.Progs {
		switch p.Type {
		case elf.PT_INTERP, elf.PT_DYNAMIC:
			return fmt.Errorf("needs a dynamic loader (segment %d is %v): link it with -static",
				i, p.Type)
		case elf.PT_LOAD:
			if err := im.addSegment(p.ProgHeader, b); err != nil {
				return fmt.Errorf("segment %d: %w", i, err)
			}
		}
	}
	if len(im.Segments) == 0 {
		return errors.New("has no segment to load: link it with a linker script that places one")
	}
	slices.SortStableFunc(im.Segments, func(a, b Segment) int { return cmp.Compare(a.PA, b.PA) })
	return im.checkOverlap()
}

// checkEntry finds the first instruction. Where the ABI has descriptors, e_entry is the address of
// one.
func (im *Image) checkEntry() error {
	im.Entry = im.Callee(im.Entry)
	if !im.executable(im.Entry) {
		return fmt.Errorf("entry %#x lies in no executable segment: check ENTRY in the linker "+
			"script", im.Entry)
	}
	return nil
}

// addSegment takes one program header of type PT_LOAD. The file may hold fewer bytes than memory,
// never more. A bounded capacity keeps appends from reaching the bytes behind the segment.
func (im *Image) addSegment(p elf.ProgHeader, b []byte) error {
	size := uint64(len(b))
	switch {
	case p.Memsz == 0 && p.Filesz == 0:
		return nil // an empty load segment, as linkers leave behind
	case p.Off > size || p.Filesz > size-p.Off:
		return fmt.Errorf("file is truncated: bytes %#x to %#x of %#x are needed: build or copy "+
			"it again", p.Off, p.Off+p.Filesz, size)
	case p.Filesz > p.Memsz:
		return fmt.Errorf("damaged: %#x bytes in the file, %#x in memory: build it again",
			p.Filesz, p.Memsz)
	case p.Memsz-1 > im.maxAddr()-p.Vaddr || p.Memsz-1 > im.maxAddr()-p.Paddr:
		return fmt.Errorf("damaged: %#x bytes at virtual %#x, physical %#x run out of the address "+
			"space: build it again", p.Memsz, p.Vaddr, p.Paddr)
	}
	im.Segments = append(im.Segments, Segment{
		VA: p.Vaddr, PA: p.Paddr, Data: b[p.Off : p.Off+p.Filesz : p.Off+p.Filesz],
		MemSize: p.Memsz, Exec: p.Flags&elf.PF_X != 0, Write: p.Flags&elf.PF_W != 0,
	})
	return nil
}

// checkOverlap refuses two segments for one byte of physical memory; Segments are sorted by PA.
func (im *Image) checkOverlap() error {
	for i := 1; i < len(im.Segments); i++ {
		a, b := &im.Segments[i-1], &im.Segments[i]
		if b.PA-a.PA < a.MemSize {
			return fmt.Errorf("segments at physical %#x and %#x overlap: check the linker script",
				a.PA, b.PA)
		}
	}
	return nil
}

// executable tells whether an executable segment covers the virtual address. It relies on unsigned
// wrap-around: an address below the segment gives a difference that is larger than any size.
func (im *Image) executable(va uint64) bool {
	return slices.ContainsFunc(im.Segments, func(s Segment) bool { return s.Exec && va-s.VA < s.MemSize })
}

// loadSections notes the sections that have addresses. Only those with SHF_ALLOC exist at run time;
// the others hold symbols and debug information.
func (im *Image) loadSections(f *elf.File) error {
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 {
			continue
		}
		if s.Size-1 > im.maxAddr()-s.Addr {
			return fmt.Errorf("section %s: damaged: %#x bytes at %#x run out of the address space: "+
				"build it again", s.Name, s.Size, s.Addr)
		}
		phase, err := phaseOf(s.Name)
		if err != nil {
			return err
		}
		im.sections = append(im.sections, section{
			name: s.Name, phase: phase, addr: s.Addr, size: s.Size,
			exec: s.Flags&elf.SHF_EXECINSTR != 0,
		})
	}
	slices.SortStableFunc(im.sections, func(a, b section) int { return cmp.Compare(a.addr, b.addr) })
	return nil
}

// markUser finds the segments that user mode may reach. They are mapped by pages, which nothing else may
// lie in. A page is 4 KiB, the
// smallest one of every instruction set.
func (im *Image) markUser() error {
	for i := range im.Segments {
		s := &im.Segments[i]
		sec := im.sectionAt(s.VA)
		if s.User = sec != nil && strings.HasPrefix(sec.name, userPrefix); !s.User {
			continue
		}
		if s.VA%pageBytes != 0 || s.PA%pageBytes != 0 {
			return fmt.Errorf("section %s for user mode does not begin with a page (%#x, physical %#x): "+
				"align it in the linker script", sec.name, s.VA, s.PA)
		}
	}
	return nil
}

const (
	userPrefix = ".user." // begins the names of sections that user mode may reach
	pageBytes  = 0x1000
)

// Section returns the run-time addresses of a section; ok is false when it has none.
func (im *Image) Section(name string) (addr, size uint64, ok bool) {
	for i := range im.sections {
		if s := &im.sections[i]; s.name == name {
			return s.addr, s.size, true
		}
	}
	return 0, 0, false
}

// SectionAt names the section that covers an address, or "".
func (im *Image) SectionAt(addr uint64) string {
	if s := im.sectionAt(addr); s != nil {
		return s.name
	}
	return ""
}

// CodeRange is where the executable sections of the kernel lie, from the first byte to the last; size is 0 when there
// are none. Profiles size a dense array with it. Modules may lie far from the kernel.
func (im *Image) CodeRange() (start, size uint64) {
	if im.kernel != nil {
		return im.kernel.CodeRange()
	}
	lo, hi := ^uint64(0), uint64(0)
	for i := range im.sections {
		if s := &im.sections[i]; s.exec {
			lo, hi = min(lo, s.addr), max(hi, s.addr+(s.size-1))
		}
	}
	if hi < lo {
		return 0, 0
	}
	return lo, hi - lo + 1
}

// sectionAt finds the section that covers an address, or nil. Sections with addresses do not overlap
// in a linked kernel, so the last that begins at or before the address is the only candidate.
func (im *Image) sectionAt(addr uint64) *section {
	i := sort.Search(len(im.sections), func(i int) bool { return im.sections[i].addr > addr }) - 1
	if i < 0 || addr-im.sections[i].addr >= im.sections[i].size {
		return nil
	}
	return &im.sections[i]
}
