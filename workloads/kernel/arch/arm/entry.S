/*
 * The ways into the kernel by exceptions, and the ways out of them.
 *
 * The processor has put the address into the link register of the exception's mode and the status into its SPSR,
 * and goes on at the vector. A way in has two parts.
 *
 *	stub	in the page of the vectors. r0, address and status go to three words of the mode, to which its
 *		stack pointer leads. The next mode is supervisor mode, and a table says where to go on by the mode
 *		that was interrupted: user mode or that of the kernel.
 *	frame	on the stack of the task.
 *
 * An exception in between would find the words in use. Interrupts are off, and nothing else may go wrong there.
 */
#include "frame.h"

	.section .phase.entry.vectors, "ax"
/* The vectors, one instruction each. */
.macro VECTOR name, instruction:vararg
FUNC \name
	\instruction
ENDFUNC \name
.endm

	VECTOR vector_reset, b stub_reset
	VECTOR vector_undefined, b stub_undefined
	VECTOR syscall_entry, ldr pc, address_of_syscall
	VECTOR vector_prefetch_abort, b stub_prefetch_abort
	VECTOR vector_data_abort, b stub_data_abort
	VECTOR vector_reserved, b stub_reserved
	VECTOR timer_interrupt_entry, b stub_interrupt
	VECTOR vector_fast_interrupt, b stub_fast_interrupt
address_of_syscall:
	.word syscall_of_user

/* 10 instructions; one more for all but undefined instructions, whose address is left to C. The table is by the
   lowest four bits of the mode: 0 is user mode and 3 the kernel's. */
.macro STUB name, mode, behind, user, kernel
	.balign 32
FUNC stub_\name
	.if \behind
	sub lr, lr, #\behind
	.endif
	stmia sp, {r0, lr}
	mrs r0, cpsr
	mrs lr, spsr
	eor r0, r0, #(\mode ^ SVC_MODE)
	str lr, [sp, #8]
	and lr, lr, #15
	msr spsr_cxsf, r0
	mov r0, sp
	ldr lr, [pc, lr, lsl #2]
	movs pc, lr
	.word \user, other_mode, other_mode, \kernel
	.rept 12
	.word other_mode
	.endr
ENDFUNC stub_\name
.endm

	.org 0x200
	STUB undefined, UND_MODE, 0, undefined_of_user, undefined_of_kernel
	STUB prefetch_abort, ABT_MODE, 4, prefetch_abort_of_user, prefetch_abort_of_kernel
	STUB data_abort, ABT_MODE, 8, data_abort_of_user, data_abort_of_kernel
	STUB interrupt, IRQ_MODE, 4, interrupt_of_user, interrupt_of_kernel
	/* What this machine never raises, and what would be executed at the address zero. */
	STUB fast_interrupt, FIQ_MODE, 4, other_mode, other_mode
	STUB reserved, SVC_MODE, 0, other_mode, other_mode
	STUB reset, SVC_MODE, 0, other_mode, other_mode

	.section .phase.entry, "ax"
/*
 * Encodings of Advanced SIMD, as mask and value (ARM ARM, A5.7). Together with those of coprocessors they belong
 * to who switches the units on when they are first used. There are none here, which the kernel does not know
 * before it has looked.
 */
	.balign 64
simd_encodings:
	.word 0xfe000000, 0xf2000000	/* data processing */
	.word 0xff100000, 0xf4000000	/* loads and stores of elements */
simd_encodings_end:

/* r0: an instruction that was undefined. Returns where no unit is behind it: 19 instructions. The stub's frame has
   all registers. */
	.balign 32
FUNC look_for_unit
	adr r6, simd_encodings
	adr r7, simd_encodings_end
1:	ldmia r6!, {r8, r9}
	and r8, r8, r0
	cmp r8, r9
	beq no_unit
	cmp r6, r7
	blo 1b
	/* Coprocessor instructions have bits 27 and 26, but for svc, which no undefined instruction is. */
	tst r0, #1 << 27
	tstne r0, #1 << 26
	bxeq lr
no_unit:
	bx lr
ENDFUNC look_for_unit

/* An undefined instruction of the kernel, which is what a breakpoint is. */
	.balign 32
FUNC undefined_of_kernel
	SAVE_KERNEL_FRAME STACK_HOLE
	ldr r0, [r3, #-4]
	bl look_for_unit
	mov r0, sp
	bl do_undefined
	b leave_to_kernel
ENDFUNC undefined_of_kernel

	.section .phase.return, "ax"
	.balign 32
FUNC leave_to_kernel
	LEAVE_TO_KERNEL
ENDFUNC leave_to_kernel

	.balign 32
FUNC leave_to_user
	/* No interrupt between the look at what is to be done and the end. */
	cpsid i
	lsr r1, sp, #THREAD_SHIFT
	lsl r1, r1, #THREAD_SHIFT
	ldr r1, [r1, #TI_FLAGS]
	tst r1, #1 << TIF_NEED_RESCHED
	bne 1f
	ldr r1, [sp, #PT_CPSR]
	ldr lr, [sp, #PT_PC]
	msr spsr_cxsf, r1
	clrex
	ldmia sp, {r0-lr}^
	nop
	add sp, sp, #PT_SIZE
	movs pc, lr
1:	bl schedule_user
	b leave_to_user
ENDFUNC leave_to_user

/* ---- all other exceptions: C is called with the complete frame ---- */

	.section .phase.entry, "ax"
.macro OF_KERNEL name, handler
	.balign 32
FUNC \name\()_of_kernel
	SAVE_KERNEL_FRAME 0
	mov r0, sp
	bl \handler
	b leave_to_kernel
ENDFUNC \name\()_of_kernel
.endm

.macro OF_USER name, handler
	.balign 32
FUNC \name\()_of_user
	SAVE_USER_FRAME
	mov r0, sp
	bl \handler
	b leave_to_user
ENDFUNC \name\()_of_user
.endm

	OF_KERNEL prefetch_abort, kwatch_prefetch_abort
	OF_KERNEL data_abort, kwatch_data_abort
	OF_USER undefined, do_undefined
	OF_USER prefetch_abort, do_prefetch_abort
	OF_USER data_abort, do_data_abort
	OF_USER interrupt, interrupt_arrived

	.balign 32
FUNC interrupt_of_kernel
	SAVE_KERNEL_FRAME 0
	mov r0, sp
	bl interrupt_arrived
#ifdef PREEMPT
	/* Another task may have to run now, unless the interrupted code forbids it. */
	lsr r1, sp, #THREAD_SHIFT
	lsl r1, r1, #THREAD_SHIFT
	ldr r2, [r1, #TI_FLAGS]
	ldr r3, [r1, #TI_PREEMPT_COUNT]
	tst r2, #1 << TIF_NEED_RESCHED
	beq 1f
	cmp r3, #0
	bleq preempt_schedule_irq
1:
#endif
	b leave_to_kernel
ENDFUNC interrupt_of_kernel

/* An exception of a mode that runs no code. r0 = the three words. */
	.balign 32
FUNC other_mode
	ldmia r0, {r0-r2}
	mov r0, r1
	mov r1, r2
	bl panic_other_mode
	.inst 0xe7f000f0
ENDFUNC other_mode
