/* Into the kernel from user mode and back: system calls. The vector and the way out are in entry.S. */
#include "frame.h"

	.section .syscall.entry, "ax"
/* A system call: r7 is its number, r0 and r1 are the arguments. The stack of the task is the one in use. */
	.balign 32
FUNC syscall_of_user
	sub sp, sp, #PT_SIZE
	stmia sp, {r0-r12}
	mrs r8, spsr
	add r9, sp, #PT_PC
	str lr, [sp, #PT_PC]
	str r8, [sp, #PT_CPSR]
	str r0, [sp, #PT_ORIG_R0]
	stmdb r9, {sp, lr}^
	cpsie i
	mov r0, sp
	bl do_syscall
	b leave_to_user
ENDFUNC syscall_of_user

/* start_user(regs): a task begins in user mode, with these registers. They go where exceptions of user mode save
   theirs: the stack is empty when the task is there. */
FUNC start_user
	lsr r1, sp, #THREAD_SHIFT
	add r1, r1, #1
	lsl r1, r1, #THREAD_SHIFT
	add r0, r0, #PT_SIZE
	mov r2, #PT_SIZE / 8
	/* The two may overlap: from the end on, as they go up. */
1:	ldmdb r0!, {r4, r5}
	stmdb r1!, {r4, r5}
	subs r2, r2, #1
	bne 1b
	mov sp, r1
	b leave_to_user
ENDFUNC start_user

#ifdef USERPROBES
	.section .user.text, "ax"
/* Return probed functions return to this probe. Nothing is executed behind it. */
	.balign 16
FUNC user_trampoline
	nop
	.inst 0xe7f000f0
ENDFUNC user_trampoline
#endif
