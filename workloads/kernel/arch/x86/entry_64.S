/*
 * The ways into the kernel by exceptions and interrupts, and the ways out. 64-bit mode.
 *
 * The processor has pushed five words: ss, rsp, flags, cs and rip, and for some exceptions an error code.
 * A way in completes them to a struct pt_regs: a push of -1 where there is no error code, room for the
 * general registers, 15 stores of them. Then it sees to it that GS is the kernel's, and calls C. A way
 * out does 15 loads and one iretq. Unlike on i386, no data segment is loaded anywhere.
 *
 * Whose GS it is can be told in two ways.
 *
 *	by level	from the saved CS. Right wherever code cannot be interrupted between a change of
 *			level and its swapgs.
 *	by base		from the base itself, which rdmsr reads: a kernel address is negative. Right
 *			everywhere.
 *
 * What #BP and #DB do depends on the era.
 *
 *	2005		#DB has a stack of its own in the TSS, and tells by base. #BP stays on the stack
 *			that it strikes, and tells by level: one rdmsr for a probe that is stepped.
 *	ERA_INT3_IST	Both run on the debug stack and tell by base, one rdmsr each. Meanwhile the slot in
 *			the TSS lies one stack lower, so that a probe hit inside a handler does not overwrite
 *			the frame. The way out disables interrupts first: one cli each.
 *	ERA_COPY_TRAPS	#BP stays on the stack that it strikes, a few words lower, so that the handler can push
 *			what an emulated call does. Registers are pushed and cleared. #DB is no probe's, and
 *			as in 2005.
 */
#include "frame.h"

/* ---- steps of a way in ---- */

/* Words between the processor's and the general registers, and room for these. */
.macro MAKE_ROOM code=0
	.if \code == 0
	pushq $-1
	.endif
	subq $PT_ORIG_AX, %rsp
.endm

/* above: bytes that lie on the stack above which the frame begins. */
.macro GS_BY_LEVEL above=0
	testl $3, \above+PT_CS(%rsp)
	jz .Lkernel_gs\@
	swapgs
.Lkernel_gs\@:
.endm

/* C preserves ebx: the upper half of the base, for LEAVE_GS_BY_BASE. */
.macro GS_BY_BASE
	movl $MSR_GS_BASE, %ecx
	rdmsr
	movl %edx, %ebx
	testl %edx, %edx
	js .Lkernel_gs\@
	swapgs
.Lkernel_gs\@:
.endm

/* ---- steps of a way out ---- */

.macro LEAVE_GS_BY_BASE
	testl %ebx, %ebx
	js .Lkernel_gs\@
	swapgs
.Lkernel_gs\@:
.endm

.macro LEAVE
	LOAD_REGS_AND_DROP
	iretq
.endm

/*
 * Kernel code was interrupted, and interrupts are off. With preemption another task may have to run now,
 * unless the interrupted code forbids it: by its counter, or because interrupts were off (a fault).
 */
.macro GIVE_WAY
#ifdef PREEMPT
#define INFO(member) (member + KERNEL_STACK_OFFSET - THREAD_SIZE)
	movq %gs:kernel_stack, %rdx
	btl $TIF_NEED_RESCHED, INFO(TI_FLAGS)(%rdx)
	jnc .Lstay\@
	cmpl $0, INFO(TI_PREEMPT_COUNT)(%rdx)
	jne .Lstay\@
	testl $X86_EFLAGS_IF, PT_FLAGS(%rsp)
	jz .Lstay\@
	call preempt_schedule_irq
.Lstay\@:
#endif
.endm

/* ---- #BP and #DB: C is called with the frame, and 0 in place of an error code ---- */

#if ERA_INT3_IST
#define DEBUG_STACK_SLOT init_tss + TSS_IST + 8 * (DEBUG_STACK - 1)

/* Each of the two has its own copy of what saves the frame, within its phase of a hit. */
.macro MOVING_TRAP name, handler
	.balign 16
FUNC save_for_\name
	cld
	STORE_REGS 8
	GS_BY_BASE
	ret
ENDFUNC save_for_\name

	.balign 16
FUNC \name
	MAKE_ROOM
	call save_for_\name
	movq %gs:this_cpu_off, %r12
	subq $EXCEPTION_STKSZ, DEBUG_STACK_SLOT(%r12)
	xorl %esi, %esi
	movq %rsp, %rdi
	call \handler
	addq $EXCEPTION_STKSZ, DEBUG_STACK_SLOT(%r12)
	jmp leave_by_base
ENDFUNC \name
.endm

	.section .phase.entry, "ax"
	MOVING_TRAP int3, do_int3

	.section .phase.step, "ax"
	MOVING_TRAP debug, do_debug
#else
.macro PLAIN_TRAP name, handler, tell_gs, leave
	.balign 16
FUNC \name
	MAKE_ROOM
	cld
	STORE_REGS
	\tell_gs
	xorl %esi, %esi
	movq %rsp, %rdi
	call \handler
	jmp \leave
ENDFUNC \name
.endm

	.section .phase.entry, "ax"
#if ERA_COPY_TRAPS
/* Code that the kernel was interrupted in may be that between a change of level and its swapgs. */
	.balign 16
FUNC save_and_clear
	cld
	pushq %rsi
	movq 8(%rsp), %rsi
	movq %rdi, 8(%rsp)
	PUSH_REGS_BELOW_SI
	pushq %rsi
	xorl %edx, %edx
	xorl %ecx, %ecx
	xorl %eax, %eax
	xorl %r8d, %r8d
	xorl %r9d, %r9d
	xorl %r10d, %r10d
	xorl %r11d, %r11d
	xorl %ebx, %ebx
	xorl %ebp, %ebp
	xorl %r12d, %r12d
	xorl %r13d, %r13d
	xorl %r14d, %r14d
	xorl %r15d, %r15d
	xorl %esi, %esi
	testb $3, 8+PT_CS(%rsp)
	jz .Lfrom_kernel
	swapgs
	ret
.Lfrom_kernel:
	leaq last_iretq(%rip), %rcx
	cmpq %rcx, 8+PT_IP(%rsp)
	je .Lcannot
	movl %ecx, %eax
	cmpq %rax, 8+PT_IP(%rsp)
	je .Lcannot
	ret
.Lcannot:
	ud2
ENDFUNC save_and_clear

	.balign 16
FUNC int3
	cld
	pushq $-1
	testb $3, 16(%rsp)
	jnz .Lno_room
	.rept 6
	pushq 40(%rsp)
	.endr
.Lno_room:
	call save_and_clear
	xorl %esi, %esi
	movq %rsp, %rdi
	call do_int3
	testb $3, PT_CS(%rsp)
	jnz leave_by_level
	jmp leave_to_kernel
ENDFUNC int3

	.section .phase.return, "ax"
	.balign 16
FUNC leave_to_kernel
	POP_REGS
	addq $8, %rsp
	/* A stack segment of a local table would want another way. */
	testb $4, 32(%rsp)
	jnz .Llocal
	.globl last_iretq
last_iretq:
	iretq
.Llocal:
	ud2
ENDFUNC leave_to_kernel
#else
	PLAIN_TRAP int3, do_int3, GS_BY_LEVEL, leave_by_level
#endif

	.section .phase.step, "ax"
	PLAIN_TRAP debug, do_debug, GS_BY_BASE, leave_by_base
#endif

	.section .phase.return, "ax"
	.balign 16
FUNC leave_by_base
#if ERA_INT3_IST
	cli
#endif
	LEAVE_GS_BY_BASE
	LEAVE
ENDFUNC leave_by_base

/* user_64.S has the way back to user mode, which swaps GS. */
	.balign 16
FUNC leave_by_level
	cli
	testl $3, PT_CS(%rsp)
	jnz return_to_user
	GIVE_WAY
	LEAVE
ENDFUNC leave_by_level

/* ---- all other exceptions: C is called with the frame, the error code or -1, and the vector ---- */

	.section .phase.entry, "ax"
	.balign 16
FUNC save_by_level
	cld
	STORE_REGS 8
	GS_BY_LEVEL 8
	ret
ENDFUNC save_by_level

.macro ERROR_ENTRY name, vector, handler, code
	.balign 16
FUNC \name
	MAKE_ROOM \code
	call save_by_level
	movq PT_ORIG_AX(%rsp), %rsi
	movl $\vector, %edx
	movq $-1, PT_ORIG_AX(%rsp)
	movq %rsp, %rdi
	call \handler
	jmp leave_by_level
ENDFUNC \name
.endm

#include "errors.h"

/* ---- interrupts: C is called with the frame, on this CPU's interrupt stack ---- */

/* irq_count is -1 while no interrupt is being served. The first word of the stack leads back. */
.macro INTERRUPT name, vector, handler
	.balign 16
FUNC \name
	pushq $~\vector
	MAKE_ROOM 1
	call save_by_level
	movq %rsp, %rbp
	incl %gs:irq_count
	jnz .Lnested\@
	movq %gs:irq_stack_ptr, %rsp
.Lnested\@:
	pushq %rbp
	movq %rbp, %rdi
	call \handler
	cli
	decl %gs:irq_count
	popq %rsp
	jmp leave_by_level
ENDFUNC \name
.endm

	INTERRUPT timer_interrupt_entry, LOCAL_TIMER_VECTOR, timer_interrupt
	INTERRUPT reschedule_interrupt, RESCHEDULE_VECTOR, smp_reschedule_interrupt
	INTERRUPT spurious_interrupt, SPURIOUS_VECTOR, ignore_interrupt

	.section .phase.irq, "ax"
	INTERRUPT call_function_interrupt, CALL_FUNCTION_VECTOR, smp_call_function_interrupt

#ifdef NMI
/*
 * An NMI comes on a stack of its own, and the next one is held off until an iret: its own, or that of a
 * breakpoint within it. So its frame goes below what is on the interrupted stack, and the NMI's is free before
 * there is an iret. An exception on the debug stack may not have moved the slot in the TSS yet, or no more: a
 * breakpoint within the NMI takes the next part. User mode has no NMIs.
 */
	.section .late.text, "ax"
	.balign 16
FUNC nmi
	testb $3, 8(%rsp)
	jnz .Lof_user
	pushq %rdx
	movq 32(%rsp), %rdx
	.irp word, 40, 32, 24, 16, 8
	pushq \word(%rsp)
	popq \word-48(%rdx)
	.endr
	popq -48(%rdx)
	leaq -48(%rdx), %rsp
	popq %rdx
	MAKE_ROOM
	cld
	STORE_REGS
#if ERA_INT3_IST
	movq %gs:this_cpu_off, %r12
	subq $EXCEPTION_STKSZ, DEBUG_STACK_SLOT(%r12)
#endif
	movq %rsp, %rdi
	call do_nmi
#if ERA_INT3_IST
	addq $EXCEPTION_STKSZ, DEBUG_STACK_SLOT(%r12)
#endif
	LEAVE
.Lof_user:
	ud2
ENDFUNC nmi
#endif
