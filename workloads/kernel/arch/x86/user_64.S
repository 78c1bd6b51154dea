/* Into the kernel from user mode and back: system calls, and the way out of everything else. */
#include "frame.h"

#define CURRENT_FLAGS TI_FLAGS+KERNEL_STACK_OFFSET-THREAD_SIZE

	.section .syscall.text, "ax"
/*
 * The instruction syscall: interrupts are off, rcx is where to go on, r11 the flags, GS and the stack
 * are the user's. The TSS has a stack pointer for level 2, which no code runs at: it keeps the
 * user's stack pointer until there is a kernel stack to save it on.
 */
FUNC syscall_entry
	swapgs
	movq %rsp, %gs:init_tss+TSS_SP2
	movq %gs:kernel_stack, %rsp	/* room for the five words of an exception above it */
	pushq %rax
	subq $PT_ORIG_AX, %rsp
	STORE_REGS
	movq %gs:init_tss+TSS_SP2, %rax
	movq $__USER_DS, PT_SS(%rsp)
	movq %rax, PT_SP(%rsp)
	movq %r11, PT_FLAGS(%rsp)
	movq $__USER_CS, PT_CS(%rsp)
	movq %rcx, PT_IP(%rsp)
	sti
	cld
	movq %rsp, %rdi
	call do_syscall
1:	cli
	movq %gs:kernel_stack, %rcx
	btl $TIF_NEED_RESCHED, CURRENT_FLAGS(%rcx)
	jc 2f
	LOAD_REGS_AND_DROP
	movq (%rsp), %rcx
	movq (PT_FLAGS-PT_IP)(%rsp), %r11
	movq (PT_SP-PT_IP)(%rsp), %rsp
	swapgs
	sysretq
2:	call schedule_user
	jmp 1b
ENDFUNC syscall_entry

/* The end of an exception or interrupt of user mode: on the task's stack, interrupts are off. */
	.balign 16
FUNC return_to_user
	movq %gs:kernel_stack, %rcx
	btl $TIF_NEED_RESCHED, CURRENT_FLAGS(%rcx)
	jc 1f
	swapgs
	LOAD_REGS_AND_DROP
	iretq
1:	call schedule_user
	jmp return_to_user
ENDFUNC return_to_user

/* start_user(regs): a task begins in user mode, with these registers. */
	.balign 16
FUNC start_user
	movq %rdi, %rsp
	cli
	jmp return_to_user
ENDFUNC start_user

/* Faults: those of user mode have no kernel code to be looked up. */
	.balign 16
FUNC any_page_fault
	testl $3, PT_CS(%rdi)
	jz do_page_fault
	jmp user_fault
ENDFUNC any_page_fault

	.balign 16
FUNC any_trap
	testl $3, PT_CS(%rdi)
	jz do_trap
	jmp user_fault
ENDFUNC any_trap

#ifdef USERPROBES
	.section .user.text, "ax"
/* Return probed functions return to this probe. Nothing is executed behind it. */
	.balign 16
FUNC user_trampoline
	nop
	ud2
ENDFUNC user_trampoline
#endif
