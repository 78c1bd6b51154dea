/*
 * Steps of the ways into and out of an exception. Assembly needs no other header: offsets, bits and registers come
 * with it.
 */
#include <asm/function.h>
#include <asm/ptrace.h>
#include <linux/sched.h>

/*
 * The frame of an exception of the kernel, on the stack in use: 12 instructions. In: r0 = the three words of the
 * stub. Out: r3 = the address that the exception has. hole: bytes that stay free below the stack pointer. The
 * frame lies at a multiple of 8, which calls want and the interrupted code may not have.
 */
.macro SAVE_KERNEL_FRAME hole
	sub sp, sp, #PT_SIZE + \hole
	tst sp, #4
	subne sp, sp, #4
	stmib sp, {r1-r12}
	ldmia r0, {r2-r4}
	add r1, sp, #PT_SIZE + \hole
	addne r1, r1, #4
	str r2, [sp]
	mov r2, lr
	mvn r5, #0
	add r0, sp, #PT_SP
	stmia r0, {r1-r5}
.endm

/* The frame of an exception of user mode, whose stack pointer and link register are in a bank of their own: 8
   instructions. In and out are the same. */
.macro SAVE_USER_FRAME
	sub sp, sp, #PT_SIZE
	stmib sp, {r1-r12}
	ldmia r0, {r2-r4}
	mvn r5, #0
	str r2, [sp]
	add r0, sp, #PT_PC
	stmia r0, {r3-r5}
	stmdb r0, {sp, lr}^
.endm

/* From a frame back to the kernel: 5 instructions. The interrupted code may hold a word for itself, which it
   would not in the end. */
.macro LEAVE_TO_KERNEL
	cpsid i
	ldr r1, [sp, #PT_CPSR]
	msr spsr_cxsf, r1
	clrex
	ldmia sp, {r0-pc}^
.endm
