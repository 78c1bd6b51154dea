/*
 * Patch sites for many probes at a time: functions site_0 to site_63 with 16 sites each, 8 bytes apart.
 * At each site is an instruction of five bytes that can run elsewhere, which a jump can replace alone.
 */
	.altmacro

.macro SITES n
	.globl site_\n
	.type site_\n, @function
site_\n:
	.rept 15
	movl $\n, %eax
	testl %eax, %eax
	nop
	.endr
	movl $\n, %eax
	ret
	nop
	nop
	.size site_\n, . - site_\n
.endm

	.section .workload.sites, "ax"
	.balign 64
	.set i, 0
	.rept 64
	SITES %i
	.set i, i + 1
	.endr
