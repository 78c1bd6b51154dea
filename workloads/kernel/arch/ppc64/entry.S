/*
 * The ways into the kernel by interrupts of the processor, and the way out of them.
 *
 * The processor has put where it was and its state into SRR0 and SRR1, and goes on at the vector, a real
 * address, with translation off. A way in has three parts.
 *
 *	stub		r13 goes to SPRG1. The priority of the thread is the usual one from here on.
 *	prolog		Four registers, and r13 as it was, go to scratch words of the CPU, which SPRG3 leads
 *			to in real mode, too. An rfid turns translation on: the CPU is in the kernel behind it.
 *	common prolog	makes the frame on the stack of the task. Registers that a function preserves are not
 *			in it yet: save_nonvolatile does it where somebody may want them.
 *
 * Nothing may go wrong between the vector and the end of the common prolog: the scratch words exist once.
 * Stacks and per-CPU data are in the segment that is always there.
 */
#include "frame.h"

/* ---- with translation off ---- */

/* 2 instructions, and 3 for a kernel that says by the run latch that the CPU is not idle. */
.macro STUB
	or 2, 2, 2
	mtspr SPRN_SPRG1, 13
#ifdef RUNLATCH
	mfspr 13, SPRN_CTRLF
	ori 13, 13, 1
	mtspr SPRN_CTRLT, 13
#endif
.endm

/* 17 instructions. Behind them r9 has the condition register, r11 and r12 have what SRR0 and SRR1 had. */
.macro TRANSLATE to
	mfspr 13, SPRN_SPRG3
	std 9, SCRATCH(0)
	std 10, SCRATCH(1)
	std 11, SCRATCH(2)
	std 12, SCRATCH(3)
	mfspr 10, SPRN_SPRG1
	mfcr 9
	std 10, SCRATCH(4)
	mfmsr 10
	mfspr 11, SPRN_SRR0
	ori 10, 10, MSR_IR | MSR_DR | MSR_RI
	mfspr 12, SPRN_SRR1
	mtspr SPRN_SRR1, 10
	clrrdi 10, 13, 32
	ori 10, 10, .\to@l
	mtspr SPRN_SRR0, 10
	rfid
.endm

.macro VECTOR name, at, base, to
	.org \at - \base
	FUNC \name
	STUB
	TRANSLATE \to
	ENDFUNC \name
.endm

	.section .phase.entry.real, "ax"
	VECTOR system_reset, 0x100, 0x100, reset_common
	VECTOR machine_check, 0x200, 0x100, machine_check_common
	VECTOR data_storage, 0x300, 0x100, data_common
	VECTOR data_segment, 0x380, 0x100, data_segment_common
	VECTOR instruction_storage, 0x400, 0x100, instruction_common
	VECTOR instruction_segment, 0x480, 0x100, instruction_segment_common
	VECTOR external_interrupt, 0x500, 0x100, external_common
	VECTOR alignment, 0x600, 0x100, alignment_common
	VECTOR program_check, 0x700, 0x100, program_common
	VECTOR float_unavailable, 0x800, 0x100, float_common
	VECTOR timer_interrupt_entry, 0x900, 0x100, timer_common
	VECTOR syscall_entry, 0xc00, 0x100, syscall_common

	.section .phase.step.real, "ax"
	VECTOR single_step, 0xd00, 0xd00, step_common

/* ---- with translation on ---- */

/* 4 instructions: interrupts become what they were where the exception struck. */
.macro RESTORE_INTERRUPTS
	ld 12, REG(PT_MSR)
	mfmsr 11
	rlwimi 11, 12, 0, 16, 16
	mtmsrd 11, 1
.endm

	.section .phase.entry, "ax"
/* 24 instructions. The frame is complete behind them, and says so. */
	.balign 128
FUNC save_nonvolatile
	ld 0, REG(PT_TRAP)
	andi. 10, 0, TRAP_NOT_ALL
	beqlr-
	MOVE_GPRS std, 14, 31
	clrrdi 0, 0, 1
	std 0, REG(PT_TRAP)
	blr
ENDFUNC save_nonvolatile

/* A program interrupt, which is what a breakpoint raises. */
	.balign 128
FUNC program_common
	SAVE_FRAME 0x700 | TRAP_NOT_ALL
	bl .save_nonvolatile
	RESTORE_INTERRUPTS
	addi 3, 1, SP_REGS
	bl .do_program_check
	b .leave
ENDFUNC program_common

/* A trace interrupt, behind one instruction. Interrupts stay off. */
	.section .phase.step.entry, "ax"
	.balign 128
FUNC step_common
	SAVE_FRAME 0xd00 | TRAP_NOT_ALL
	bl .save_nonvolatile
	addi 3, 1, SP_REGS
	bl .do_single_step
	b .leave
ENDFUNC step_common

/* ---- all other exceptions: C is called with the complete frame ---- */

.macro EXCEPTION name, vector, handler, address
	.balign 16
	FUNC \name
	SAVE_FRAME \vector | TRAP_NOT_ALL
	.if \address
	mfspr 10, SPRN_DAR
	mfspr 11, SPRN_DSISR
	std 10, REG(PT_DAR)
	std 11, REG(PT_DSISR)
	.endif
	bl .save_nonvolatile
	addi 3, 1, SP_REGS
	bl .\handler
	b .leave
	ENDFUNC \name
.endm

	.section .phase.entry, "ax"
	EXCEPTION reset_common, 0x100, do_trap, 0
	EXCEPTION machine_check_common, 0x200, do_trap, 0
	EXCEPTION data_common, 0x300, do_data_storage, 1
	EXCEPTION data_segment_common, 0x380, do_page_fault, 1
	EXCEPTION instruction_common, 0x400, do_page_fault, 0
	EXCEPTION instruction_segment_common, 0x480, do_page_fault, 0
	EXCEPTION alignment_common, 0x600, do_trap, 1
	EXCEPTION float_common, 0x800, do_trap, 0

/* The stack pointer is no kernel address, so that nothing can be saved: the CPU's stack for this is used. */
	.balign 16
FUNC bad_stack
	addis 1, 13, (fault_stack_end - SP_REGS - PERCPU_LINKED)@ha
	addi 1, 1, (fault_stack_end - SP_REGS - PERCPU_LINKED)@l
	ld 2, kernel_toc@l(13)
	mr 3, 10
	mr 4, 11
	bl .panic_bad_stack
	twi 31, 0, 0
ENDFUNC bad_stack

/* ---- interrupts: C is called with the frame, on the task's stack ---- */

.macro INTERRUPT name, vector, handler
	.balign 16
	FUNC \name
	SAVE_FRAME \vector | TRAP_NOT_ALL
	addi 3, 1, SP_REGS
	bl .\handler
	b .leave
	ENDFUNC \name
.endm

	INTERRUPT external_common, 0x500, external_arrived
	INTERRUPT timer_common, 0x900, timer_interrupt

/* ---- the way out: 64 instructions from a complete frame back to the kernel ---- */

	.section .phase.return, "ax"
	.balign 128
FUNC leave
	ld 0, REG(PT_TRAP)
	andi. 10, 0, TRAP_NOT_ALL
	bne .Lpreserved
	MOVE_GPRS ld, 14, 31
.Lpreserved:
	/* No interrupt between the look at what is to be done and the end. */
	mfmsr 10
	rldicl 10, 10, 48, 1
	rotldi 10, 10, 16
	mtmsrd 10, 1
	clrrdi 9, 1, THREAD_SHIFT
	ld 12, REG(PT_MSR)
	ld 11, TI_FLAGS(9)
	andi. 0, 12, MSR_PR
	bne .Lto_user
#ifdef PREEMPT
	/* Another task may have to run now, unless the interrupted code forbids it. */
	lwz 8, TI_PREEMPT_COUNT(9)
	andi. 0, 11, 1 << TIF_NEED_RESCHED
	cmpwi 1, 8, 0
	bne- .Lgive_way
#endif
.Lrestore:
	andi. 0, 12, MSR_RI
	beq- .Lunrecoverable
	ld 7, REG(PT_CTR)
	ld 8, REG(PT_LINK)
	ld 9, REG(PT_XER)
	mtctr 7
	mtlr 8
	mtxer 9
	/* The interrupted code may hold a reservation, which it would not have in the end. */
	stdcx. 0, 0, 1
	andi. 0, 12, MSR_PR
	beq+ .Lkernel
	ld 13, GPR(13)
.Lkernel:
	/* An exception from here on would destroy SRR0 and SRR1, and says so. */
	mfmsr 10
	li 9, ~MSR_RI
	and 10, 10, 9
	mtmsrd 10, 1
	ld 11, REG(PT_NIP)
	ld 9, REG(PT_CCR)
	mtspr SPRN_SRR1, 12
	mtspr SPRN_SRR0, 11
	mtcrf 0xff, 9
	ld 0, GPR(0)
	MOVE_GPRS ld, 2, 12
	ld 1, GPR(1)
	rfid
.Lto_user:
	andi. 0, 11, 1 << TIF_NEED_RESCHED
	beq+ .Lrestore
	bl .schedule_user
	b .leave
#ifdef PREEMPT
.Lgive_way:
	andi. 0, 12, MSR_EE
	beq .Lrestore
	bne 1, .Lrestore
	bl .preempt_schedule_irq
	b .leave
#endif
.Lunrecoverable:
	addi 3, 1, SP_REGS
	bl .unrecoverable
	twi 31, 0, 0
ENDFUNC leave
