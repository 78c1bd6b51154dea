package arm

import (
	"encoding/binary"
	"slices"

	"kprobesim/kprobes"
)

// What the template has where a detour fills in the size of its frame: the stack pointer less a constant, and the
// stack pointer and a constant. Register and condition are the template's.
const (
	subSP    = 0x024dd000 // sub sp, sp, #constant
	addSP    = 0x028d0000 // add register, sp, #constant
	maskSub  = 0x0ffff000
	maskAdd  = 0x0fff0000
	constant = 0xfff
)

// detour fills in the template. The instruction is not copied: the function that the buffer calls emulates it, and the
// buffer ends with a load of the program counter. So nothing stands behind the template.
// The order of the marks is that of Optimizer.Marks.
func detour(t kprobes.Template, r kprobes.Region, d kprobes.DetourAt) ([]byte, *kprobes.Refusal) {
	unsuitable := kprobes.Refuse(kprobes.RuleUnsupported, d.Addr, "the image's detour template has no room for its values")
	if !t.Room(wordSize, wordSize, wordSize, wordSize) {
		return nil, unsuitable
	}
	code, size := slices.Clone(t.Code), frameOf(wordOf(r.Code))
	room, back := code[t.Marks[0]:], code[t.Marks[1]:]
	if wordOf(room)&maskSub != subSP || wordOf(back)&maskAdd != addSP {
		return nil, unsuitable
	}
	binary.LittleEndian.PutUint32(room, uint32(wordOf(room)&^constant|size))
	binary.LittleEndian.PutUint32(back, uint32(wordOf(back)&^constant|size))
	binary.LittleEndian.PutUint32(code[t.Marks[2]:], uint32(d.Probe))
	binary.LittleEndian.PutUint32(code[t.Marks[3]:], uint32(d.Calls[0]))
	return code, nil
}

// frameOf returns what a detour keeps free: the saved registers, and what the instruction may store below the stack pointer.
// C wants the stack pointer at a multiple of eight (AAPCS, 5.2.1.2).
func frameOf(w word) word { return word(frame+w.below()+7) &^ 7 }
