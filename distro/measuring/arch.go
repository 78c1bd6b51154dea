package measuring

import (
	"debug/elf"
	"encoding/binary"
)

// arch tells the instruction sets apart of kernels that are measured.
type arch struct {
	breakpoint, debug int // vectors of the exceptions by which probes are hit
	align             uint64
	// unmaps is how long a kernel is given to free what a module needed for its insertion, in milliseconds: one that takes the
	// addresses out of the TLB page by page would do so in the region of interest.
	unmaps        int
	planted, jump func(code []byte) bool // the instruction is a probe's of user mode, an optimized probe's
	replaced      []replaced
	calls         calls
	next          int // argument of the function that switches tasks: the next one
}

// replaced is a nop that kernels replace by a call of a page with a system call, where a probe of user mode stands.
type replaced struct{ nop, call []byte }

// calls are numbers of system calls (distro/init/calls.h).
type calls struct{ read, write, open, ioctl, mkdir, mount uint64 }

// Of x86, SDM vol. 3, 6.3.1, and vol. 2, INT3 and JMP. Of ARM, ARM ARM, B1.8.1, A5.4 (permanently undefined, with the condition of
// none that a program has) and A8.8.18: probes are undefined instructions, and an optimized one is a branch, which keeps a condition.
// Debug events come as aborts.
var (
	x86 = arch{
		breakpoint: 3, debug: 1, align: 1,
		planted: func(code []byte) bool { return code[0] == 0xcc },
		jump:    func(code []byte) bool { return code[0] == 0xe9 },
		calls:   calls{0, 1, 2, 16, 83, 165}, next: 1, replaced: []replaced{
			{[]byte{0x0f, 0x1f, 0x44, 0, 0}, []byte{0xe8}},
			// lea -0x80(%rsp), %rsp leaves what a function keeps below its stack pointer.
			{[]byte{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, []byte{0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8}},
		},
	}
	i386 = arch{breakpoint: x86.breakpoint, debug: x86.debug, align: 1, planted: x86.planted, jump: x86.jump, calls: arm.calls, next: 1}
	arm  = arch{
		breakpoint: 1, debug: 4, align: 4, unmaps: settle,
		planted: func(code []byte) bool { return binary.LittleEndian.Uint32(code)&0x0ff000f0 == 0x07f000f0 },
		jump:    func(code []byte) bool { return code[3]&0xf == 0xa },
		calls:   calls{3, 4, 5, 54, 39, 21}, next: 2,
	}
)

func (s *session) arch() *arch { return archOf(s.kernel.Image.Machine) }

func archOf(m elf.Machine) *arch {
	switch m {
	case elf.EM_ARM:
		return &arm
	case elf.EM_386:
		return &i386
	}
	return &x86
}
