package object

import (
	"debug/elf"
	"encoding/binary"
	"errors"
)

func nameARM(typ uint32) string { return elf.R_ARM(typ).String() }

const (
	armStub    = 8          // bytes of a veneer: a load of the program counter, and the word that it loads
	loadPC     = 0xe51ff004 // ldr pc, [pc, #-4]
	branchMask = 0x00ffffff
)

func branchARM(typ uint32) bool {
	switch elf.R_ARM(typ) {
	case elf.R_ARM_CALL, elf.R_ARM_JUMP24, elf.R_ARM_PC24, elf.R_ARM_PLT32:
		return true
	}
	return false
}

// applyARM applies a relocation of ARM (IHI 0044, section 4.6.1). The addends are in the instructions. Addresses wrap
// around at 4 GiB.
func applyARM(f *fix) error {
	insn, err := f.word()
	if err != nil {
		return err
	}
	if f.sym.typ == elf.STT_FUNC && f.target.Value&1 != 0 {
		return remedy("the function is Thumb code: compile it with -marm")
	}
	switch typ := elf.R_ARM(f.typ); typ {
	case elf.R_ARM_ABS32, elf.R_ARM_TARGET1:
		f.addend = int64(int32(insn))
		return f.put(4, f.absolute(), anyValue)
	case elf.R_ARM_REL32:
		f.addend = int64(int32(insn))
		return f.put(4, f.relative(), anyValue)
	case elf.R_ARM_PREL31:
		f.addend = int64(int32(insn<<1) >> 1)
		return f.narrow(insn, int64(int32(f.relative())), 31, 1<<31-1)
	case elf.R_ARM_CALL, elf.R_ARM_JUMP24, elf.R_ARM_PC24, elf.R_ARM_PLT32:
		return f.branch(insn)
	case elf.R_ARM_MOVW_ABS_NC, elf.R_ARM_MOVT_ABS, elf.R_ARM_MOVW_PREL_NC, elf.R_ARM_MOVT_PREL:
		return f.halfMove(insn, typ)
	case elf.R_ARM_V4BX: // marks a return that processors before ARMv4T do not have
		return nil
	}
	if _, thumb := thumbs[elf.R_ARM(f.typ)]; thumb {
		return remedy("it is Thumb code: compile it with -marm")
	}
	return errRefused
}

// thumbs are relocations of Thumb code that compilers write.
var thumbs = map[elf.R_ARM]bool{
	elf.R_ARM_THM_PC22: true, elf.R_ARM_THM_JUMP24: true, elf.R_ARM_THM_JUMP11: true, elf.R_ARM_THM_JUMP8: true,
	elf.R_ARM_THM_MOVW_ABS_NC: true, elf.R_ARM_THM_MOVT_ABS: true, elf.R_ARM_THM_MOVW_PREL_NC: true, elf.R_ARM_THM_MOVT_PREL: true,
}

// narrow fills some bits of a word with a value that must fit.
func (f *fix) narrow(insn uint32, v int64, bits int, mask uint32) error {
	if !signedValue.fits(v, bits) {
		return overflow(v, bits)
	}
	return f.put(4, uint64(insn&^mask|uint32(v)&mask), anyValue)
}

// branch relocates a branch, by a veneer when its target is farther than 32 MiB.
func (f *fix) branch(insn uint32) error {
	f.addend = int64(int32(insn<<8) >> 6)
	if insn>>28 == 0xf {
		return remedy("it changes to Thumb: compile it with -marm")
	}
	v := int64(int32(f.relative()))
	if v&3 != 0 {
		return errors.New("the distance is no multiple of 4")
	}
	if !signedValue.fits(v, 26) {
		at, err := f.l.stub(f.target, func(uint64) []byte {
			b := binary.LittleEndian.AppendUint32(nil, loadPC)
			return binary.LittleEndian.AppendUint32(b, uint32(f.target.Entry))
		})
		if err != nil {
			return err
		}
		v = int64(int32(at + uint64(f.addend) - f.place))
	}
	return f.narrow(insn, v>>2, 24, branchMask)
}

// halfMove fills the 16 bits of an instruction that loads half of a register.
func (f *fix) halfMove(insn uint32, typ elf.R_ARM) error {
	f.addend = int64(int16(insn>>4&0xf000 | insn&0xfff))
	v := f.absolute()
	if typ == elf.R_ARM_MOVW_PREL_NC || typ == elf.R_ARM_MOVT_PREL {
		v = f.relative()
	}
	if typ == elf.R_ARM_MOVT_ABS || typ == elf.R_ARM_MOVT_PREL {
		v >>= 16
	}
	half := uint32(v) & 0xffff
	return f.put(4, uint64(insn&^0xf0fff|half<<4&0xf0000|half&0xfff), anyValue)
}
