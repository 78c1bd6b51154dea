/*
 * Functions whose first instruction has the shape that a rule of kprobes is about. All take two numbers (r0, r1)
 * and return one (r0).
 */
#include "../frame.h"

	.section .workload, "ax"

/* Saves registers on the stack, as most functions do that call others. */
	.balign 16
FUNC work_frame
	push {r4, r5, lr}
	add r4, r0, r1, lsl #1
	add r5, r4, #1
	lsr r5, r5, #3
	add r0, r5, r0
	add r0, r0, #5
	pop {r4, r5, pc}
ENDFUNC work_frame

/* A loop whose back edge lands on the second instruction. */
	.balign 16
FUNC work_tight_loop
	and r0, r0, #15
1:	add r1, r1, r1, lsl #1
	add r1, r1, #1
	subs r0, r0, #1
	bpl 1b
	mov r0, r1
	bx lr
ENDFUNC work_tight_loop

/* Reads words by their distance from the program counter: a copy elsewhere would read others. */
	.balign 16
FUNC work_pc_relative
	ldr r2, near_words
	adr r3, near_words
	and r1, r1, #3
	ldr r3, [r3, r1, lsl #2]
	eor r2, r2, r3
	add r0, r0, r2
	bx lr
near_words:
	.word 0x1234, 0x77, 0x5a5a5a5a, 0x42
ENDFUNC work_pc_relative

/* A call comes first but for a move: the link register is that of the original. */
	.balign 16
FUNC work_call_first
	mov r12, lr
	bl helper_mix
	add r0, r0, r1
	bx r12
ENDFUNC work_call_first

	.balign 16
FUNC helper_mix
	add r0, r1, r0, lsl #2
	add r0, r0, #3
	bx lr
ENDFUNC helper_mix

/* One instruction and the return. */
	.balign 16
FUNC work_short
	add r0, r0, #1
	bx lr
ENDFUNC work_short

/* Starts with a conditional branch; both ways compute the same. */
	.balign 16
FUNC work_jcc_first
	bvs 1f
	add r0, r0, r1
	add r0, r0, #7
	bx lr
1:	add r0, r1, r0
	add r0, r0, #7
	bx lr
ENDFUNC work_jcc_first

/* Instructions with conditions that hold, and with some that do not. */
	.balign 16
FUNC work_conditions
	cmp r0, r1
	addhi r0, r0, r1
	subls r0, r1, r0
	movhi r2, #3
	ldrls r2, [sp]
	subls r2, r2, r2
	addeq r0, r0, #1
	add r0, r0, r2
	bx lr
ENDFUNC work_conditions

/* Reads and writes the flags, and the carry. */
	.balign 16
FUNC work_flags
	mrs r2, cpsr
	cmp r0, r1
	mrs r3, cpsr
	msr cpsr_f, r2
	and r3, r3, #0x60000000
	adds r2, r0, r1
	adc r0, r2, r3, lsr #29
	bx lr
ENDFUNC work_flags

/* Leaves by a branch to another function, which returns to the caller. */
	.balign 16
FUNC work_tail
	add r0, r0, #9
	lsl r1, r1, #1
	b helper_mix
ENDFUNC work_tail

/* Calls through a register, then through memory, as older processors did: the program counter is loaded. */
	.balign 16
FUNC work_indirect_call
	push {r4, lr}
	LOAD_ADDRESS r2, helper_mix
	blx r2
	adr r4, mix_pointer
	mov lr, pc
	ldr pc, [r4]
	pop {r4, pc}
mix_pointer:
	.word helper_mix
ENDFUNC work_indirect_call

/* Switches interrupts off and on around a load: the instructions for it are refused as places of probes. */
	.balign 16
FUNC work_cli_sti
	mrs r2, cpsr
	cpsid i
	ldr r3, [sp]
	msr cpsr_c, r2
	sub r3, r3, r3
	add r0, r0, r3
	add r0, r0, r1
	bx lr
ENDFUNC work_cli_sti

/* Starts with a store that moves the stack pointer, and goes on with loads and stores that move their base. */
	.balign 16
FUNC work_update
	str r0, [sp, #-16]!
	str r1, [sp, #8]
	mov r2, sp
	ldr r3, [r2], #8
	ldr r12, [r2, #-4]!
	str r3, [r2], #4
	ldr r12, [r2]
	add r0, r12, r3
	add sp, sp, #16
	bx lr
ENDFUNC work_update

/* Several words with one instruction: ten registers below the stack pointer, and back. */
	.balign 16
FUNC work_multiple
	stmdb sp!, {r3-r11, lr}
	mov r4, r0
	mov r5, r1
	stmdb sp!, {r0, r1, r4, r5}
	ldmia sp, {r6-r9}
	add r6, r6, r7
	add r8, r8, r9, lsl #1
	add r0, r6, r8
	add sp, sp, #16
	ldmia sp!, {r3-r11, pc}
ENDFUNC work_multiple

/* Two words with one instruction, to and from a pair of registers. */
	.balign 16
FUNC work_pairs
	strd r0, r1, [sp, #-8]!
	ldrd r2, r3, [sp], #8
	add r0, r2, r3, lsl #1
	bx lr
ENDFUNC work_pairs

/* Long multiplications, and arithmetic that saturates. */
	.balign 16
FUNC work_multiply
	umull r2, r3, r0, r1
	mla r2, r0, r1, r3
	qadd r3, r2, r3
	uxtab r2, r2, r3
	eor r0, r2, r1
	bx lr
ENDFUNC work_multiply
