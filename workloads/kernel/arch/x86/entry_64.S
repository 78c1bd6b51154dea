/*
 * Exception and interrupt entry and exit.
 *
 * #BP and #DB run on the debug stack of the TSS and trust nothing about GS: they read the GS base
 * MSR to learn whether it is the kernel's ("paranoid"). While C code runs, the TSS slot is moved
 * down by one stack, so that a probe hit inside a handler does not overwrite the frame.
 */
#include "frame.h"

/* Makes pt_regs complete and leaves in ebx whether GS needs no swap on the way out. */
.macro SAVE_PARANOID name
FUNC \name
	cld
	STORE_REGS 8
	movl $1, %ebx
	movl $MSR_GS_BASE, %ecx
	rdmsr
	testl %edx, %edx
	js 1f
	swapgs
	xorl %ebx, %ebx
1:	ret
ENDFUNC \name
.endm

/*
 * The end of an interrupt or fault of kernel code; interrupts are off. With preemption, another task may
 * have to run now, if the code allowed it.
 */
.macro PREEMPT_ON_RETURN
#ifdef PREEMPT
	testl $3, PT_CS(%rsp)
	jnz 1f
	movq %gs:kernel_stack, %rcx
	cmpl $0, TI_PREEMPT_COUNT+KERNEL_STACK_OFFSET-THREAD_SIZE(%rcx)
	jne 1f
	btl $TIF_NEED_RESCHED, TI_FLAGS+KERNEL_STACK_OFFSET-THREAD_SIZE(%rcx)
	jnc 1f
	testl $X86_EFLAGS_IF, PT_FLAGS(%rsp)
	jz 1f
	call preempt_schedule_irq
1:
#endif
.endm

#define DEBUG_IST_SLOT (TSS_IST + (DEBUG_STACK - 1) * 8)

.macro PARANOID_ENTRY name, save, handler
FUNC \name
	pushq $-1
	subq $PT_ORIG_AX, %rsp
	call \save
	movq %rsp, %rdi
	xorl %esi, %esi
	movq %gs:this_cpu_off, %r12
	leaq init_tss(%r12), %r12
	subq $EXCEPTION_STKSZ, DEBUG_IST_SLOT(%r12)
	call \handler
	addq $EXCEPTION_STKSZ, DEBUG_IST_SLOT(%r12)
	jmp paranoid_exit
ENDFUNC \name
.endm

#if ERA_INT3_IST
	.section .phase.entry, "ax"
	PARANOID_ENTRY int3, save_paranoid, do_int3
	.balign 16
	SAVE_PARANOID save_paranoid

	.section .phase.step, "ax"
	PARANOID_ENTRY debug, save_paranoid_debug, do_debug
	.balign 16
	SAVE_PARANOID save_paranoid_debug
#else
/* The same for #DB alone, in line, without moving the stack in the TSS. */
	.section .phase.step, "ax"
FUNC debug
	pushq $-1
	subq $PT_ORIG_AX, %rsp
	cld
	STORE_REGS
	movl $1, %ebx
	movl $MSR_GS_BASE, %ecx
	rdmsr
	testl %edx, %edx
	js 1f
	swapgs
	xorl %ebx, %ebx
1:	movq %rsp, %rdi
	xorl %esi, %esi
	call do_debug
	jmp paranoid_exit
ENDFUNC debug
#endif

	.section .phase.return, "ax"
FUNC paranoid_exit
#if ERA_INT3_IST
	cli
#endif
	testl %ebx, %ebx
	jnz 1f
	swapgs
1:	LOAD_REGS_AND_DROP
	iretq
ENDFUNC paranoid_exit

	/* In the gap before the next function, which has room for no more than a short jump. */
FUNC error_exit_user
.Lto_user:
	jmp return_to_user
ENDFUNC error_exit_user

	/* Way out of all other exceptions and of interrupts: GS follows the privilege level. */
	.balign 16
FUNC error_exit
	cli
	PREEMPT_ON_RETURN
	testl $3, PT_CS(%rsp)
	jz 1f
	jmp .Lto_user
	nop
1:	LOAD_REGS_AND_DROP
	iretq
ENDFUNC error_exit

	.section .phase.entry, "ax"
	.balign 16
FUNC error_entry
	cld
	STORE_REGS 8
	testl $3, 8+PT_CS(%rsp)
	jz 1f
	swapgs
1:	ret
ENDFUNC error_entry

/* Exceptions with (code=1) or without an error code from the CPU; edx tells C the vector. */
.macro ERROR_ENTRY name, vector, handler, code
	.balign 16
FUNC \name
	.if \code == 0
	pushq $-1
	.endif
	subq $PT_ORIG_AX, %rsp
	call error_entry
	movq %rsp, %rdi
	movq PT_ORIG_AX(%rsp), %rsi
	movq $-1, PT_ORIG_AX(%rsp)
	movl $\vector, %edx
	call \handler
	jmp error_exit
ENDFUNC \name
.endm

#if !ERA_INT3_IST
	/* Like the others, but with the registers saved in line. */
	.balign 16
FUNC int3
	pushq $-1
	subq $PT_ORIG_AX, %rsp
	cld
	STORE_REGS
	testl $3, PT_CS(%rsp)
	jz 1f
	swapgs
1:	movq %rsp, %rdi
	xorl %esi, %esi
	call do_int3
	jmp error_exit
ENDFUNC int3
	.balign 16
#endif
#include "errors.h"

/* Device interrupts run on the interrupt stack of the CPU unless one is already being served. */
.macro INTERRUPT name, vector, handler
	.balign 16
FUNC \name
	pushq $~\vector
	subq $PT_ORIG_AX, %rsp
	call error_entry
	movq %rsp, %rdi
	movq %rsp, %rbp
	incl %gs:irq_count
	cmoveq %gs:irq_stack_ptr, %rsp
	pushq %rbp
	call \handler
	cli
	popq %rsp
	decl %gs:irq_count
	jmp error_exit
ENDFUNC \name
.endm

	INTERRUPT timer_interrupt_entry, LOCAL_TIMER_VECTOR, timer_interrupt
	INTERRUPT reschedule_interrupt, RESCHEDULE_VECTOR, smp_reschedule_interrupt
	INTERRUPT spurious_interrupt, SPURIOUS_VECTOR, ignore_interrupt

	.section .phase.irq, "ax"
	INTERRUPT call_function_interrupt, CALL_FUNCTION_VECTOR, smp_call_function_interrupt
