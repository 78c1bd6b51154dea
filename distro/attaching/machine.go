package attaching

import "debug/elf"

// System calls. They are named by their numbers on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl).
const (
	callMmap          = 9
	callIoctl         = 16
	callPerfEventOpen = 298
	callPrlimit       = 302
	callSeccomp       = 317
	callBPF           = 321
)

// machine holds where the interface of a kernel differs by instruction set.
type machine struct {
	name    string            // as people write it
	word    int               // bytes of a pointer
	numbers map[uint64]uint64 // of system calls, by their numbers on x86-64
	prefix  string            // of functions of system calls
	wrapped uint64            // 1 where these take the registers as a structure
}

// Of 32 bits, callMmap stands for mmap2, which takes its offset in pages (arch/x86/entry/syscalls/syscall_32.tbl,
// arch/arm/tools/syscall.tbl).
var (
	x8664 = machine{
		name: "x86-64", word: 8, prefix: "__x64_sys_", wrapped: 1,
		numbers: map[uint64]uint64{
			callMmap: callMmap, callIoctl: callIoctl, callPerfEventOpen: callPerfEventOpen, callPrlimit: callPrlimit,
			callSeccomp: callSeccomp, callBPF: callBPF,
		},
	}
	i386 = machine{
		name: "i386", word: 4, prefix: "__ia32_sys_", wrapped: 1,
		numbers: map[uint64]uint64{callMmap: 192, callIoctl: 54, callPerfEventOpen: 336, callPrlimit: 340, callSeccomp: 354, callBPF: 357},
	}
	arm = machine{
		name: "ARM", word: 4, prefix: "sys_",
		numbers: map[uint64]uint64{callMmap: 192, callIoctl: 54, callPerfEventOpen: 364, callPrlimit: 369, callSeccomp: 383, callBPF: 386},
	}
)

func machineOf(m elf.Machine) *machine {
	switch m {
	case elf.EM_386:
		return &i386
	case elf.EM_ARM:
		return &arm
	}
	return &x8664
}

// Attaches reports whether a system call of a machine attaches something, and does not merely prepare that: number and first argument.
func Attaches(of elf.Machine, number, first uint64) bool {
	switch n := machineOf(of).numbers; number {
	case n[callIoctl], n[callPerfEventOpen], n[callSeccomp]:
		return true
	case n[callBPF]:
		return first == linkCreate || first == rawTracepointOpen
	}
	return false
}
