/*
 * Room for some ten thousand probes: functions crowd_0 to crowd_127 of 80 instructions each, of 400 bytes, which
 * is what a function of a kernel may have. The file does not hold them: the simulator writes the instruction at
 * crowd_pattern over all of them, as a loader writes the text of a module. It can run elsewhere, and a jump can
 * replace it alone. Nobody calls them. Preemptible kernels do without, to be small.
 */
#ifndef PREEMPT
	.altmacro

	.section .workload.pattern, "a"
	.globl crowd_pattern
	.type crowd_pattern, @object
crowd_pattern:
	movl $1, %eax
	.size crowd_pattern, . - crowd_pattern

.macro CROWD n
	.globl crowd_\n
	.type crowd_\n, @function
crowd_\n:
	.skip 400
	.size crowd_\n, . - crowd_\n
.endm

	.section .workload.crowd, "ax", @nobits
	.balign 64
	.set i, 0
	.rept 128
	CROWD %i
	.set i, i + 1
	.endr
#endif
