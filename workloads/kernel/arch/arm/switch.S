/* Changing from one task's stack to another's. */
#include "frame.h"

	.text
/* struct task_struct *__switch_to(prev, next, sp_offset): returns the task switched away from. r12 is saved only
   to keep the stack at multiples of 8. */
FUNC __switch_to
	push {r4-r12, lr}
	str sp, [r0, r2]
	ldr sp, [r1, r2]
	pop {r4-r12, pc}
ENDFUNC __switch_to

/* Where a new task starts: r4 = function, r5 = its argument, r0 = the previous task. A stack pointer at the very end
   of the stack would lead to the next one: who looks for the stack's bottom may do so before anything is saved. */
FUNC kthread_entry
	sub sp, sp, #8
	bl schedule_tail
	mov r0, r5
	blx r4
	bl do_exit
	.inst 0xe7f000f0
ENDFUNC kthread_entry
