/*
 * The ways into the kernel by exceptions and interrupts, and the ways out. 32-bit protected mode.
 *
 * An exception of the kernel does not change the stack. It finds the processor's three words there,
 * flags, cs and ip, and completes them to a struct pt_regs without sp and ss, or with ERA_FRAME_STACK to a
 * whole one. All gates close interrupts.
 *
 * A way in (SAVE_ALL of frame.h): a push of -1 where the processor has no error code, the segment
 * registers and seven general ones, 9 pushes, and loads of the kernel's ds and es. With ERA_FRAME_FS_GS
 * two pushes more, one of them in place of gs, and a load of fs. A way out: a check of where the frame
 * leads, seven pops, the pops of two or three segment registers, one iret.
 */
#include "frame.h"

/* What leads back into the kernel. */
#if ERA_FRAME_STACK
#define RESTORE_INTERRUPTED restore_kernel_frame
#else
#define RESTORE_INTERRUPTED restore_frame
#endif

/* A selector with this bit is one of the LDT: it may be of a stack of 16 bits. */
#define SELECTOR_LDT 4

/* #BP and #DB: C is called with the frame, and 0 in place of an error code. */
.macro PLAIN_TRAP handler
	pushl $-1
	SAVE_ALL
	xorl %edx, %edx
	movl %esp, %eax
	call \handler
	jmp leave
.endm

	.section .phase.entry, "ax"
FUNC int3
#if ERA_FRAME_STACK
	/* It may strike anywhere: no other task runs before it is over. */
	pushl $-1
	SAVE_ALL
	xorl %edx, %edx
	movl %esp, %eax
	call do_int3
	testb $3, PT_CS(%esp)
	jz restore_kernel_frame
	jmp leave
#else
	PLAIN_TRAP do_int3
#endif
ENDFUNC int3

	.section .phase.step, "ax"
/* A step into the kernel by sysenter strikes before there is a stack. It would need a way of its own. */
FUNC debug
	cmpl $sysenter_entry, (%esp)
	je .Lno_stack
	PLAIN_TRAP do_debug
.Lno_stack:
	ud2
ENDFUNC debug

/* ---- the way out of all of them ---- */

	.section .phase.return, "ax"
/*
 * What was interrupted decides: user mode is left to user_32.S, which comes back to restore_frame. The
 * level is in cs, but in virtual 8086 mode, where selectors are no selectors and a flag tells. ebp is the
 * task's thread_info from here on.
 */
FUNC leave
#ifdef PREEMPT
	cli
#endif
	movl $-THREAD_SIZE, %ebp
	andl %esp, %ebp
	movl PT_FLAGS(%esp), %eax
	movb PT_CS(%esp), %al
	testl $(X86_EFLAGS_VM | 3), %eax
	jnz return_to_user
#ifdef PREEMPT
	/* Another task may have to run now, unless the interrupted code forbids it: by its counter, or
	   because interrupts were off (a fault). */
	testl $_TIF_NEED_RESCHED, TI_FLAGS(%ebp)
	jz RESTORE_INTERRUPTED
	cmpl $0, TI_PREEMPT_COUNT(%ebp)
	jne RESTORE_INTERRUPTED
	testl $X86_EFLAGS_IF, PT_FLAGS(%esp)
	jz RESTORE_INTERRUPTED
	call preempt_schedule_irq
#endif
ENDFUNC leave

#if ERA_FRAME_STACK
FUNC restore_kernel_frame
	POP_REGS
	popl %ds
	popl %es
	popl %fs
	addl $(PT_IP - PT_GS), %esp
	IRET_TO_KERNEL
ENDFUNC restore_kernel_frame
#endif

/*
 * An iret to a stack of 16 bits leaves half of esp as it was, which would need repair. One check tells:
 * flags, the byte of ss and that of cs side by side.
 */
FUNC restore_frame
	movl PT_FLAGS(%esp), %eax
	movb PT_CS(%esp), %al
	movb PT_SS(%esp), %ah
	andl $(X86_EFLAGS_VM | SELECTOR_LDT << 8 | 3), %eax
	cmpl $(SELECTOR_LDT << 8 | 3), %eax
	je .Lshort_stack
	POP_REGS
	popl %ds
	popl %es
#if ERA_FRAME_FS_GS
	popl %fs
#endif
	addl $(PT_IP - PT_AFTER_SEGMENTS), %esp
	iret
.Lshort_stack:
	ud2
ENDFUNC restore_frame

/* ---- all other exceptions: C is called with the frame, the error code or -1, and the vector ---- */

.macro ERROR_ENTRY name, vector, handler, code
	.balign 16
FUNC \name
	.if \code == 0
	pushl $-1
	.endif
	SAVE_ALL
	movl PT_ORIG_AX(%esp), %edx
	movl $\vector, %ecx
	movl $-1, PT_ORIG_AX(%esp)
	movl %esp, %eax
	call \handler
	jmp leave
ENDFUNC \name
.endm

	.section .phase.entry, "ax"
#include "errors.h"

	/* System calls are interrupts here (user_32.S): none gets to this. */
	.balign 16
FUNC sysenter_entry
	ud2
ENDFUNC sysenter_entry

/* ---- interrupts: C is called with the frame, on the stack of the task that is interrupted ---- */

.macro INTERRUPT name, vector, handler
	.balign 16
FUNC \name
	pushl $~\vector
	SAVE_ALL
	movl %esp, %eax
	call \handler
	jmp leave
ENDFUNC \name
.endm

	INTERRUPT timer_interrupt_entry, LOCAL_TIMER_VECTOR, timer_interrupt
	INTERRUPT reschedule_interrupt, RESCHEDULE_VECTOR, smp_reschedule_interrupt
	INTERRUPT spurious_interrupt, SPURIOUS_VECTOR, ignore_interrupt

	.section .phase.irq, "ax"
	INTERRUPT call_function_interrupt, CALL_FUNCTION_VECTOR, smp_call_function_interrupt

#ifdef NMI
/* On the stack of the task. An iret within it, of a breakpoint, lets the next one come. User mode has no NMIs. */
	.section .late.text, "ax"
	.balign 16
FUNC nmi
	pushl $-1
	SAVE_ALL
	movl %esp, %eax
	call do_nmi
	jmp RESTORE_INTERRUPTED
ENDFUNC nmi
#endif
