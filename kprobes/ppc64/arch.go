package ppc64

import (
	"encoding/binary"

	"kprobesim/kprobes"
)

const (
	wordSize = 4          // of every instruction and of a slot: MAX_INSN_SIZE is one
	trap     = 0x7fe00008 // tw 31,0,0: traps always
	line     = 128        // bytes of a line of the caches of POWER5
)

// Arch returns the rules of 64-bit kernels.
//
// A hit steps the copy in the slot. From 2.6.24 the guest's emulator is asked first; what it says of an
// instruction at the first hit is kept in a member, as 1 where it has done the instruction. Caches of
// instructions need not be coherent (book II, section 1.8), so new code is flushed.
func Arch() *kprobes.Arch {
	return &kprobes.Arch{
		Name: "ppc64", Breakpoint: bytesOf(trap), Align: wordSize, SlotSize: wordSize, Line: line,
		Flush: "flush_icache_range", Interrupted: true,
		First: kprobes.Stepped, Then: kprobes.Emulated, Learned: learned,
		Emulates:    emulates,
		Members:     []string{"opcode", "ainsn.insn", learned},
		Eras:        eras(),
		CodeMutants: codeMutants(),
		Optimizer:   optimizer(),
		Prepare:     prepare,
		SystemCall:  systemCall,
		Classify:    classify,
		Reserves:    reserves,
		Atomic:      atomic,
		Fetching: "Power ISA Book II, 1.8: a processor sees a modified instruction for certain when the line was written back and " +
			"invalidated, and it has synchronized its context since",
	}
}

// learned is the member that the guest sets to 1 once its emulator has done the instruction, and to -1 once it
// could not. It is -1 from the start where hits are to step and can be.
const learned = "ainsn.boostable"

// eras lists what kernels have. That of 2005 steps every instruction; that of 2010 emulates branches and a few
// others, and that of 2011 most of the integer instructions, which is in the guest's code. Jumps came with 4.11.
// No kernel looks whether an aligned word is an instruction.
func eras() []kprobes.Era {
	return []kprobes.Era{
		{Year: 2005, GroupPost: true},
		{Year: 2010, Boost: true, BoostsFew: true},
		{Year: 2011, Boost: true},
		{Year: 2017, Boost: true, Optimize: true},
	}
}

// optimizer has the rules of jump optimization. A jump replaces one instruction, so it comes and goes by one
// store.
func optimizer() *kprobes.Optimizer {
	return &kprobes.Optimizer{
		JumpSize: wordSize, MaxRegion: wordSize,
		Patchings: []string{kprobes.PatchStore, kprobes.PatchStop},
		Marks:     []string{"value", "call", "insn", "emulate"},
		Calls:     []string{"detour_called", "emulate_displaced"},
		Region:    region, Detour: detour,
		Jump: func(r kprobes.Region, to uint64) ([]byte, *kprobes.Refusal) { return jump(r.Addr, to) },
	}
}

// bytesOf is an instruction as it lies in memory. Kernels of the eras are big-endian.
func bytesOf(word uint32) []byte { return binary.BigEndian.AppendUint32(nil, word) }
