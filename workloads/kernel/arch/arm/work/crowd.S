/*
 * Room for some ten thousand probes: functions crowd_0 to crowd_127 of 80 instructions each. The file does
 * not hold them: the simulator writes the instruction at crowd_pattern over all of them, as a loader writes
 * the text of a module. It can run elsewhere, and a branch can replace it. Nobody calls them. Preemptible
 * kernels do without, to be small.
 */
#include "../frame.h"

#ifndef PREEMPT
	.altmacro

	.section .workload.pattern, "a"
	.globl crowd_pattern
	.type crowd_pattern, %object
crowd_pattern:
	mov r0, #1
	.size crowd_pattern, . - crowd_pattern

.macro CROWD n
	FUNC crowd_\n
	.skip 320
	ENDFUNC crowd_\n
.endm

	.section .workload.crowd, "ax", %nobits
	.balign 64
	.set i, 0
	.rept 128
	CROWD %i
	.set i, i + 1
	.endr
#endif
