/*
 * Patch sites for many probes at a time: functions site_0 to site_63 with 16 sites each, 8 bytes apart.
 * At each site is an instruction that can run elsewhere, which a branch can replace.
 */
#include "../frame.h"
	.altmacro

.macro SITES n
	FUNC site_\n
	.rept 15
	li 3, \n
	cmpdi 3, 0
	.endr
	li 3, \n
	blr
	ENDFUNC site_\n
.endm

	.section .workload.sites, "ax"
	.balign 128
	.set i, 0
	.rept 64
	SITES %i
	.set i, i + 1
	.endr
