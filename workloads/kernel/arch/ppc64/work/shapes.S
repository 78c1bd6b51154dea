/*
 * Functions whose first instruction has the shape that a rule of kprobes is about. All take two numbers
 * (r3, r4) and return one (r3).
 */
#include "../frame.h"

	.section .workload, "ax"

/* Makes a frame and keeps a register of the caller's, as most functions do that call others. */
	.balign 16
FUNC work_frame
	mflr 0
	std 31, -8(1)
	std 0, CALLER_LR(1)
	stdu 1, -128(1)
	sldi 31, 4, 1
	add 31, 31, 3
	srdi 31, 31, 3
	add 3, 31, 3
	addi 3, 3, 5
	addi 1, 1, 128
	ld 0, CALLER_LR(1)
	ld 31, -8(1)
	mtlr 0
	blr
ENDFUNC work_frame

/* A loop whose back edge lands on the second instruction. */
	.balign 16
FUNC work_tight_loop
	andi. 3, 3, 15
1:	mulli 4, 4, 3
	addi 4, 4, 1
	addic. 3, 3, -1
	bge 1b
	mr 3, 4
	blr
ENDFUNC work_tight_loop

	.balign 16
FUNC helper_mix
	sldi 5, 3, 2
	add 3, 5, 4
	addi 3, 3, 3
	blr
ENDFUNC helper_mix

/* One instruction and the return. */
	.balign 16
FUNC work_short
	addi 3, 3, 1
	blr
ENDFUNC work_short

/* Starts with a conditional branch; both ways compute the same. */
	.balign 16
FUNC work_jcc_first
	bso 1f
	add 3, 3, 4
	addi 3, 3, 7
	blr
1:	add 3, 4, 3
	addi 3, 3, 7
	blr
ENDFUNC work_jcc_first

/* Reads and writes the condition register, and the carry. */
	.balign 16
FUNC work_flags
	mfcr 5
	cmpld 3, 4
	mfcr 6
	mtcrf 0xff, 5
	rlwinm 6, 6, 4, 28, 31
	addc 7, 3, 4
	addze 3, 6
	add 3, 3, 7
	blr
ENDFUNC work_flags

/* Leaves by a branch to another function, which returns to the caller. */
	.balign 16
FUNC work_tail
	addi 3, 3, 9
	sldi 4, 4, 1
	b .helper_mix
ENDFUNC work_tail

/* Calls through the count register, by a descriptor. */
	.balign 16
FUNC work_indirect_call
	mflr 0
	std 0, CALLER_LR(1)
	stdu 1, -112(1)
	LOAD_ADDRESS 5, helper_mix
	ld 0, 0(5)
	std 2, 40(1)
	ld 2, 8(5)
	mtctr 0
	bctrl
	ld 2, 40(1)
	addi 1, 1, 112
	ld 0, CALLER_LR(1)
	mtlr 0
	blr
ENDFUNC work_indirect_call

/* Switches interrupts off and on around a load: the instructions for it are refused as places of probes. */
	.balign 16
FUNC work_cli_sti
	mfmsr 5
	rldicl 6, 5, 48, 1
	rotldi 6, 6, 16
	mtmsrd 6, 1
	ld 6, 0(1)
	mtmsrd 5, 1
	sub 6, 6, 6
	add 3, 3, 6
	add 3, 3, 4
	blr
ENDFUNC work_cli_sti

/* Starts with a trap that is not taken: it can be executed in its place only. */
	.balign 16
FUNC work_trap_first
	tdi 8, 1, 0
	tdi 0, 3, 5
	add 3, 3, 4
	addi 3, 3, 13
	blr
ENDFUNC work_trap_first

/* Starts with a load that moves its base, and stores in the same way. */
	.balign 16
FUNC work_update
	stdu 3, -32(1)
	std 4, 8(1)
	mr 5, 1
	ldu 6, 8(5)
	stdu 6, 8(5)
	ld 7, 0(5)
	ld 3, 0(1)
	add 3, 3, 7
	addi 1, 1, 32
	blr
ENDFUNC work_update

/* Several words with one instruction. */
	.balign 16
FUNC work_multiple
	std 30, -8(1)
	std 31, -16(1)
	std 3, -32(1)
	std 4, -24(1)
	addi 5, 1, -32
	lmw 30, 4(5)
	slwi 30, 30, 1
	add 3, 30, 31
	ld 30, -8(1)
	ld 31, -16(1)
	blr
ENDFUNC work_multiple

/* Counts down in the count register. */
	.balign 16
FUNC work_counted
	andi. 3, 3, 15
	addi 3, 3, 1
	mtctr 3
1:	mulli 4, 4, 5
	bdnz 1b
	mr 3, 4
	blr
ENDFUNC work_counted
