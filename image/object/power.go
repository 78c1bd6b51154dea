package object

import (
	"debug/elf"
	"encoding/binary"
	"errors"
)

func namePower(typ uint32) string { return elf.R_PPC64(typ).String() }

// Instructions that calls and stubs are made of (Power ISA, version 2.05, book I).
const (
	nop       = 0x60000000 // ori 0,0,0
	nopOld    = 0x4ffffb82 // cror 31,31,31, which old compilers write
	restore   = 0xe8410028 // ld 2,40(1)
	addisR12  = 0x3d820000 // addis 12,2,0
	addiR12   = 0x398c0000 // addi 12,12,0
	saveTOC   = 0xf8410028 // std 2,40(1)
	loadEntry = 0xe80c0000 // ld 0,0(12)
	loadTOC   = 0xe84c0008 // ld 2,8(12)
	setCTR    = 0x7c0903a6 // mtctr 0
	branchCTR = 0x4e800420 // bctr
	linkBit   = 1

	powerStub = 48 // bytes: seven instructions, a pad, and a copy of the descriptor
	stubData  = 32 // where the copy lies
	tocMiddle = 0x8000
)

// tocSection is the table of contents.
const tocSection = ".toc"

func branchPower(typ uint32) bool { return elf.R_PPC64(typ) == elf.R_PPC64_REL24 }

// beginPower finds the middle of the table of contents, which register 2 holds (supplement, section 3.5.4), and applies
// the relocations of descriptors, which calls within the module go by.
func beginPower(l *linker) {
	at := l.o.textEnd
	for _, name := range []string{tocSection, ".got"} {
		for i := range l.o.sections {
			if s := &l.o.sections[i]; s.loaded && s.name == name {
				at = s.at
			}
		}
	}
	l.m.TOC = l.m.Base + at + tocMiddle
	for i := range l.o.sections {
		if s := &l.o.sections[i]; s.name == descriptors && s.loaded {
			for _, r := range s.relocs {
				l.apply(s, r)
			}
		}
	}
}

// applyPower applies a relocation of ppc64 (supplement, section 4.5.1).
func applyPower(f *fix) error {
	abs, rel, toc := f.absolute(), f.relative(), f.absolute()-f.l.m.TOC
	switch elf.R_PPC64(f.typ) {
	case elf.R_PPC64_ADDR64, elf.R_PPC64_UADDR64:
		return f.put(8, abs, anyValue)
	case elf.R_PPC64_REL64:
		return f.put(8, rel, anyValue)
	case elf.R_PPC64_TOC:
		return f.put(8, f.l.m.TOC+uint64(f.addend), anyValue)
	case elf.R_PPC64_ADDR32, elf.R_PPC64_UADDR32:
		return f.put(4, abs, eitherValue)
	case elf.R_PPC64_REL32:
		return f.put(4, rel, signedValue)
	case elf.R_PPC64_REL24:
		return f.call()
	case elf.R_PPC64_REL14:
		return f.mask(rel, 16, 0xfffc)
	case elf.R_PPC64_ADDR16_DS:
		return f.ds(abs, signedValue)
	case elf.R_PPC64_ADDR16_LO_DS:
		return f.ds(abs, anyValue)
	case elf.R_PPC64_TOC16_DS:
		return f.ds(toc, signedValue)
	case elf.R_PPC64_TOC16_LO_DS:
		return f.ds(toc, anyValue)
	}
	return f.half(abs, rel, toc)
}

// half applies a relocation of half a word: some 16 bits of a value, adjusted where the lower half is added with sign.
func (f *fix) half(abs, rel, toc uint64) error {
	const adjust = 0x8000
	for _, x := range []struct {
		typ   elf.R_PPC64
		value uint64
		shift uint
		check check
	}{
		{elf.R_PPC64_ADDR16, abs, 0, eitherValue},
		{elf.R_PPC64_ADDR16_LO, abs, 0, anyValue},
		{elf.R_PPC64_ADDR16_HI, abs, 16, anyValue},
		{elf.R_PPC64_ADDR16_HA, abs + adjust, 16, anyValue},
		{elf.R_PPC64_ADDR16_HIGHER, abs, 32, anyValue},
		{elf.R_PPC64_ADDR16_HIGHERA, abs + adjust, 32, anyValue},
		{elf.R_PPC64_ADDR16_HIGHEST, abs, 48, anyValue},
		{elf.R_PPC64_ADDR16_HIGHESTA, abs + adjust, 48, anyValue},
		{elf.R_PPC64_TOC16, toc, 0, signedValue},
		{elf.R_PPC64_TOC16_LO, toc, 0, anyValue},
		{elf.R_PPC64_TOC16_HI, toc, 16, signedValue},
		{elf.R_PPC64_TOC16_HA, toc + adjust, 16, signedValue},
		{elf.R_PPC64_REL16, rel, 0, signedValue},
		{elf.R_PPC64_REL16_LO, rel, 0, anyValue},
		{elf.R_PPC64_REL16_HI, rel, 16, signedValue},
		{elf.R_PPC64_REL16_HA, rel + adjust, 16, signedValue},
	} {
		if x.typ != elf.R_PPC64(f.typ) {
			continue
		}
		return f.put(2, uint64(int64(x.value)>>x.shift), x.check)
	}
	return errRefused
}

// ds fills the displacement of a load or store of a doubleword, whose lowest two bits are the instruction's.
func (f *fix) ds(v uint64, c check) error {
	b, err := f.bytes(2)
	if err != nil {
		return err
	}
	old := binary.BigEndian.Uint16(b)
	switch {
	case v&3 != 0:
		return errors.New("the address is no multiple of 4")
	case !c.fits(int64(v), 16):
		return overflow(int64(v), 16)
	}
	binary.BigEndian.PutUint16(b, old&3|uint16(v))
	return nil
}

// mask fills some bits of an instruction with a distance that has a number of bits.
func (f *fix) mask(v uint64, bits int, mask uint32) error {
	insn, err := f.word()
	switch {
	case err != nil:
		return err
	case v&3 != 0:
		return errors.New("the distance is no multiple of 4")
	}
	return f.narrow(insn, int64(v), bits, mask)
}

// call relocates a branch. One that leaves the module goes by a stub, which loads the table of contents of its callee;
// the instruction behind it, which compilers leave empty, loads the own one again (supplement, section 3.5.11).
func (f *fix) call() error {
	const field = 0x03fffffc
	if f.ours {
		to := f.l.m.Pointer(f.target.Value).Entry
		return f.mask(to+uint64(f.addend)-f.place, 26, field)
	}
	if f.target.Entry == 0 {
		return errors.New("the branch leads to a weak symbol that nobody defines")
	}
	insn, err := f.word()
	if err != nil {
		return err
	}
	if insn&linkBit == 0 {
		return errors.New("a jump out of the module in place of a call: compile it with -fno-optimize-sibling-calls")
	}
	behind := *f
	behind.off += 4
	next, err := behind.word()
	if err != nil || next != nop && next != nopOld && next != restore {
		return errors.New("no empty instruction follows the call: compile the module from C, for ELF version 1")
	}
	at, err := f.l.stub(f.target, func(at uint64) []byte { return f.l.powerStub(at, f.target) })
	if err != nil {
		return err
	}
	if err := behind.put(4, restore, anyValue); err != nil {
		return err
	}
	return f.mask(at-f.place, 26, field)
}

// powerStub makes a stub. The copy of the descriptor is found relative to the module's own table of contents.
func (l *linker) powerStub(at uint64, to Symbol) []byte {
	off := at + stubData - l.m.TOC
	b := make([]byte, 0, powerStub)
	for _, insn := range []uint32{
		addisR12 | uint32(off+0x8000)>>16, addiR12 | uint32(off)&0xffff, saveTOC, loadEntry, loadTOC, setCTR, branchCTR, nop,
	} {
		b = binary.BigEndian.AppendUint32(b, insn)
	}
	b = binary.BigEndian.AppendUint64(b, to.Entry)
	return binary.BigEndian.AppendUint64(b, to.TOC)
}
