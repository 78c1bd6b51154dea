/* Into the kernel from user mode by interrupt 0x80, as kernels began with. The frame is that of an exception,
   and so is its restoring (entry_32.S). */
#include "frame.h"

	.section .syscall.text, "ax"
/* Interrupts stay on, the stack is the task's. */
FUNC syscall_entry
	pushl %eax
	SAVE_ALL
	movl %esp, %eax
	call do_syscall
	/* Only user mode calls: no need to look where the frame leads. */
	movl $-THREAD_SIZE, %ebp
	andl %esp, %ebp
	jmp return_to_user
ENDFUNC syscall_entry

/* The end of what user mode was left for: ebp is the task's thread_info. */
	.balign 16
FUNC return_to_user
	cli
	testl $_TIF_NEED_RESCHED, TI_FLAGS(%ebp)
	jz restore_frame
	call schedule_user
	jmp return_to_user
ENDFUNC return_to_user

/* start_user(regs): a task begins in user mode, with these registers. */
	.balign 16
FUNC start_user
	movl %eax, %esp
	jmp leave
ENDFUNC start_user

/* Faults: those of user mode have no kernel code to be looked up. */
	.balign 16
FUNC any_page_fault
	testl $3, PT_CS(%eax)
	jz do_page_fault
	jmp user_fault
ENDFUNC any_page_fault

	.balign 16
FUNC any_trap
	testl $3, PT_CS(%eax)
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
