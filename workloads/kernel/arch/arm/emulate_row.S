/* Calls a copy that has thirteen registers of a frame in its own r0 to r12. */
#include <linux/era.h>
#include <asm/function.h>

#if ERA_BLOCK_COPIES
	.section .phase.step, "ax"
	.balign 4
/* r0: the row in the frame, r1: the copy. */
FUNC call_with_row
	stmdb sp!, {r0, r4-r11, lr}
	mov lr, r1
	ldmia r0, {r0-r12}
	blx lr
	ldr lr, [sp]
	stmia lr, {r0-r12}
	ldmia sp!, {r0, r4-r11, pc}
ENDFUNC call_with_row
#endif
