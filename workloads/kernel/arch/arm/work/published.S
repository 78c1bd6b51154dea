/*
 * The functions of the published micro-benchmark of ARM kernels: a probed instruction and the return. What they store
 * under the stack pointer they load again; a probe can stand on either instruction.
 */
#include "../frame.h"

	.section .workload, "ax"

	.balign 64
FUNC bench_nop
	nop
	bx lr
ENDFUNC bench_nop

/* The registers lie in a row of thirteen that ends with the link register. */
	.balign 64
FUNC bench_row
	stmdb sp!, {r3-r11, lr}
	ldmia sp!, {r3-r11, lr}
	bx lr
ENDFUNC bench_row

/* The registers lie in no such row. */
	.balign 64
FUNC bench_wide
	stmdb sp!, {r0-r8, lr}
	ldmia sp!, {r0-r8, lr}
	bx lr
ENDFUNC bench_wide

/* Two registers that do, and two that do not. */
	.balign 64
FUNC bench_near_pair
	stmdb sp!, {r4, lr}
	ldmia sp!, {r4, lr}
	bx lr
ENDFUNC bench_near_pair

	.balign 64
FUNC bench_far_pair
	stmdb sp!, {r0, lr}
	ldmia sp!, {r0, lr}
	bx lr
ENDFUNC bench_far_pair
