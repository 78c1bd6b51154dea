/*
 * The end of a jprobe's function: a breakpoint. The stack pointer is that of the probed function's entry
 * again before it, as the frame of the exception must not lie over the stack that is put back.
 */
#include <asm/hit.h>
#include <asm/percpu.h>
#include "frame.h"

#if !ERA_COPY_TRAPS
#if ERA_GLOBAL_HIT
#define SAVED_SP the_hit+HIT_JPROBE_SP
#elif ERA_UNIPROCESSOR
#define SAVED_SP hit_record+HIT_JPROBE_SP
#elif defined(__x86_64__)
#define SAVED_SP %gs:hit_record+HIT_JPROBE_SP
#else
#define SAVED_SP %fs:hit_record+HIT_JPROBE_SP
#endif

	.section .phase.dispatch.jprobe, "ax"
	.balign 16
FUNC jprobe_return
#ifdef __x86_64__
	movq SAVED_SP, %rbx
	xchgq %rbx, %rsp
#else
	movl SAVED_SP, %ebx
	xchgl %ebx, %esp
#endif
	.globl jprobe_return_break, jprobe_return_end
jprobe_return_break:
	int3
jprobe_return_end:
	nop
ENDFUNC jprobe_return
#endif
