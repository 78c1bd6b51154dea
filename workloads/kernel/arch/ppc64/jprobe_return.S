/* The end of a jprobe's function: a breakpoint. */
#include <asm/function.h>

	.section .phase.dispatch.jprobe, "ax"
	.balign 16
FUNC jprobe_return
	.globl jprobe_return_break
jprobe_return_break:
	trap
ENDFUNC jprobe_return
