/*
 * Steps of the ways into an exception. Assembly needs no other header: offsets, bits and registers come with
 * it.
 */
#include <asm/function.h>
#include <asm/percpu.h>
#include <asm/ptrace.h>

/* A register of the frame at the stack pointer. */
#define REG(offset) SP_REGS + offset(1)
#define GPR(n) SP_REGS + PT_GPR(n)(1)

/* Where tasks and CPUs keep what the ways in and out read. */
#include <asm/processor.h>
#include <linux/sched.h>
#include <asm/switch_to.h>

/* Moves general registers from first to last between the frame and where they belong. */
.macro MOVE_GPRS move, first, last
	.set reg, \first
	.rept \last - \first + 1
	\move reg, SP_REGS + 8 * reg(1)
	.set reg, reg + 1
	.endr
.endm

/* Words of the CPU for what an exception interrupted, until there is a frame. */
#define SCRATCH(n) (exception_scratch + 8 * (n))@l(13)

/* The common prolog: 42 instructions for an exception of the kernel. */
.macro SAVE_FRAME trap
	andi. 10, 12, MSR_PR
	mr 10, 1
	addi 1, 1, -EXCEPTION_FRAME
	beq+ .Lkernel\@
	ld 1, kernel_stack@l(13)
.Lkernel\@:
	cmpdi 1, 1, 0
	bge- 1, .bad_stack
	std 10, 0(1)
	std 10, GPR(1)
	std 0, GPR(0)
	std 9, REG(PT_CCR)
	std 11, REG(PT_NIP)
	std 12, REG(PT_MSR)
	MOVE_GPRS std, 2, 8
	ld 9, SCRATCH(0)
	ld 10, SCRATCH(1)
	ld 11, SCRATCH(2)
	ld 12, SCRATCH(3)
	MOVE_GPRS std, 9, 12
	ld 9, SCRATCH(4)
	mflr 10
	mfctr 11
	mfxer 12
	std 9, GPR(13)
	std 10, REG(PT_LINK)
	std 11, REG(PT_CTR)
	std 12, REG(PT_XER)
	ld 2, kernel_toc@l(13)
	ld 9, frame_mark@l(13)
	li 10, \trap
	li 11, 0
	std 9, SP_REGS - 16(1)
	std 10, REG(PT_TRAP)
	std 11, REG(PT_RESULT)
.endm
