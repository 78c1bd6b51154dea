/* Changing from one task's stack to another's. */
#include "frame.h"

.macro MOVE_SWITCHED move
	.set reg, 14
	.rept 18
	\move reg, SWITCH_GPRS + 8 * (reg - 14)(1)
	.set reg, reg + 1
	.endr
.endm

	.text
/* struct task_struct *__switch_to(prev, next, sp_offset): returns the task switched away from. */
FUNC __switch_to
	mflr 0
	mfcr 6
	std 0, CALLER_LR(1)
	std 6, CALLER_CR(1)
	stdu 1, -SWITCH_FRAME(1)
	MOVE_SWITCHED std
	stdx 1, 3, 5
	ldx 1, 4, 5
	MOVE_SWITCHED ld
	addi 1, 1, SWITCH_FRAME
	ld 6, CALLER_CR(1)
	ld 0, CALLER_LR(1)
	mtcrf 0xff, 6
	mtlr 0
	blr
ENDFUNC __switch_to

/* Where a new task starts: r14 = function, r15 = its argument, r3 = the previous task. */
FUNC kthread_entry
	bl .schedule_tail
	mr 3, 15
	ld 0, 0(14)
	ld 2, 8(14)
	mtctr 0
	bctrl
	bl .do_exit
	twi 31, 0, 0
ENDFUNC kthread_entry
