/*
 * Exception and interrupt entry and exit of 32-bit protected mode.
 *
 * An exception of the kernel does not change the stack. It finds the processor's three words on
 * it and completes them to a struct pt_regs without sp and ss.
 */
#include "frame.h"

/* Bit 2 of a stack selector: it is one of the LDT, and may have 16 bits. */
#define SELECTOR_LDT 4

#ifndef PREEMPT
#define resume_kernel restore_all
#endif

/* #BP and #DB: no error code, the C function takes (regs, 0). */
.macro TRAP_ENTRY handler
	pushl $-1
	SAVE_ALL
	xorl %edx, %edx
	movl %esp, %eax
	call \handler
	jmp ret_from_exception
.endm

	.section .phase.entry, "ax"
FUNC int3
	TRAP_ENTRY do_int3
ENDFUNC int3

	.section .phase.step, "ax"
/* A step into the kernel through sysenter strikes before the stack was changed. */
FUNC debug
	cmpl $sysenter_entry, (%esp)
	jne 1f
	ud2
1:	TRAP_ENTRY do_debug
ENDFUNC debug

	.section .phase.return, "ax"
/* The way out of exceptions and interrupts: to the kernel, or to user mode after its work is done. */
FUNC ret_from_exception
#ifdef PREEMPT
	cli
#endif
	movl $-THREAD_SIZE, %ebp
	andl %esp, %ebp
	movl PT_FLAGS(%esp), %eax
	movb PT_CS(%esp), %al
#if ERA_FRAME_FS_GS
	andl $(X86_EFLAGS_VM | 3), %eax
	cmpl $3, %eax
	jb resume_kernel
#else
	testl $(X86_EFLAGS_VM | 3), %eax
	jz resume_kernel
#endif
	cli
	testl $_TIF_NEED_RESCHED, TI_FLAGS(%ebp)
	jz restore_all
	call schedule_user
	jmp ret_from_exception
ENDFUNC ret_from_exception

#ifdef PREEMPT
/* Another task may have to run now, if the kernel code allowed it. */
FUNC resume_kernel
	cmpl $0, TI_PREEMPT_COUNT(%ebp)
	jne restore_all
	testl $_TIF_NEED_RESCHED, TI_FLAGS(%ebp)
	jz restore_all
	testl $X86_EFLAGS_IF, PT_FLAGS(%esp)
	jz restore_all
	call preempt_schedule_irq
	jmp restore_all
ENDFUNC resume_kernel
#endif

/* An iret to a stack of 16 bits leaves half of esp behind and would need another way. */
FUNC restore_all
	movl PT_FLAGS(%esp), %eax
	movb PT_SS(%esp), %ah
	movb PT_CS(%esp), %al
	andl $(X86_EFLAGS_VM | SELECTOR_LDT << 8 | 3), %eax
	cmpl $(SELECTOR_LDT << 8 | 3), %eax
	je 1f
	POP_REGS
	popl %ds
	popl %es
#if ERA_FRAME_FS_GS
	popl %fs
#endif
	addl $(PT_IP - PT_AFTER_SEGMENTS), %esp
	iret
1:	ud2
ENDFUNC restore_all

/* Exceptions with (code=1) or without an error code from the CPU; ecx tells C the vector. */
.macro ERROR_ENTRY name, vector, handler, code
	.balign 16
FUNC \name
	.if \code == 0
	pushl $-1
	.endif
	SAVE_ALL
	movl PT_ORIG_AX(%esp), %edx
	movl $-1, PT_ORIG_AX(%esp)
	movl $\vector, %ecx
	movl %esp, %eax
	call \handler
	jmp ret_from_exception
ENDFUNC \name
.endm

	.section .phase.entry, "ax"
#include "errors.h"

	/* System calls are interrupts here (arch/x86/user_32.S): none gets to this. */
	.balign 16
FUNC sysenter_entry
	ud2
ENDFUNC sysenter_entry

/* Device interrupts run on the stack of the task that they interrupt. */
.macro INTERRUPT name, vector, handler
	.balign 16
FUNC \name
	pushl $~\vector
	SAVE_ALL
	movl %esp, %eax
	call \handler
	jmp ret_from_exception
ENDFUNC \name
.endm

	INTERRUPT timer_interrupt_entry, LOCAL_TIMER_VECTOR, timer_interrupt
	INTERRUPT reschedule_interrupt, RESCHEDULE_VECTOR, smp_reschedule_interrupt
	INTERRUPT spurious_interrupt, SPURIOUS_VECTOR, ignore_interrupt

	.section .phase.irq, "ax"
	INTERRUPT call_function_interrupt, CALL_FUNCTION_VECTOR, smp_call_function_interrupt
