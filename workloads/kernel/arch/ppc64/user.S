/* Into the kernel from user mode and back: system calls. The vector and the way out are in entry.S. */
#include "frame.h"

	.section .syscall.entry, "ax"
/* A system call: r0 is its number, r3 and r4 are the arguments, which are still in their registers, too. */
	.balign 128
FUNC syscall_common
	SAVE_FRAME 0xc00 | TRAP_NOT_ALL
	std 3, REG(PT_ORIG_GPR3)
	mfmsr 11
	ori 11, 11, MSR_EE
	mtmsrd 11, 1
	addi 3, 1, SP_REGS
	bl .do_syscall
	b .leave
ENDFUNC syscall_common

/* start_user(regs): a task begins in user mode, with these registers, which lie on its kernel stack. */
FUNC start_user
	addi 1, 3, -SP_REGS
	b .leave
ENDFUNC start_user

#ifdef USERPROBES
	.section .user.text, "ax"
/* Return probed functions return to this probe. Nothing is executed behind it. */
	.balign 16
FUNC user_trampoline
	nop
	.long 0
ENDFUNC user_trampoline
#endif
