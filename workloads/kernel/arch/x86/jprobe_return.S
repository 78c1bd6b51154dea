/*
 * How a jprobe's function ends. The breakpoint is taken with the stack pointer of the probed
 * function's entry, as the exception's frame must not lie over the stack that is put back.
 */
#include <asm/kprobes.h>
#include <asm/percpu.h>
#include "frame.h"

	.section .phase.dispatch.jprobe, "ax"
	.balign 16
	.globl jprobe_return_break, jprobe_return_end
FUNC jprobe_return
#ifdef __x86_64__
	movq %gs:kprobe_ctlblk+KCB_JPROBE_SAVED_SP, %rbx
	xchgq %rbx, %rsp
#elif ERA_UNIPROCESSOR
	movl kprobe_ctlblk+KCB_JPROBE_SAVED_SP, %ebx
	xchgl %ebx, %esp
#else
	movl %fs:kprobe_ctlblk+KCB_JPROBE_SAVED_SP, %ebx
	xchgl %ebx, %esp
#endif
jprobe_return_break:
	int3
jprobe_return_end:
	nop
ENDFUNC jprobe_return
