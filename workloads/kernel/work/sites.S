/*
 * Places for many probes at a time: functions site_0 to site_63 with 16 sites each, 8 bytes apart.
 * At each site is an instruction of five bytes that does nothing, which a jump can replace alone.
 */
#ifdef __i386__
#define AX %eax
#else
#define AX %rax
#endif

	.altmacro

.macro SITES n
	.globl site_\n
	.type site_\n, @function
site_\n:
	.rept 15
	{disp8} nopl 0(AX,AX,1)
	nopl (AX)
	.endr
	{disp8} nopl 0(AX,AX,1)
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
