/*
 * Patch sites for many probes at a time: functions site_0 to site_63 with 16 sites each, 8 bytes apart.
 * At each site is an instruction that can run elsewhere, which a branch can replace.
 */
#include "../frame.h"
	.altmacro

.macro SITES n
	FUNC site_\n
	.rept 15
	mov r0, #\n
	cmp r0, #0
	.endr
	mov r0, #\n
	bx lr
	ENDFUNC site_\n
.endm

	.section .workload.sites, "ax"
	.balign 64
	.set i, 0
	.rept 64
	SITES %i
	.set i, i + 1
	.endr
