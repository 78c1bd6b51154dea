/* Registers of what a probe interrupted. */
#ifndef _MODULE_LINUX_PTRACE_H
#define _MODULE_LINUX_PTRACE_H

#include <asm/ptrace.h>

#define profile_pc(frame) instruction_pointer(frame)

#if defined __x86_64__ || defined __i386__
#define kernel_stack_pointer(frame) FRAME_STACK(frame)
#elif defined __powerpc64__
#define kernel_stack_pointer(frame) ((frame)->gpr[1])
#else
#define kernel_stack_pointer(frame) ((frame)->ARM_sp)
#endif

/* The argument of a function of that number, from 0 on, at its entry; 0 for one that is on the stack. */
static inline unsigned long regs_get_kernel_argument(const struct pt_regs *frame, unsigned int n)
{
#if defined __x86_64__
	const unsigned long in[] = { frame->di, frame->si, frame->dx, frame->cx, frame->r8, frame->r9 };
#elif defined __i386__
	const unsigned long in[] = { frame->ax, frame->dx, frame->cx };
#elif defined __powerpc64__
	const unsigned long in[] = { frame->gpr[3], frame->gpr[4], frame->gpr[5], frame->gpr[6],
				     frame->gpr[7], frame->gpr[8], frame->gpr[9], frame->gpr[10] };
#else
	const unsigned long in[] = { frame->ARM_r0, frame->ARM_r1, frame->ARM_r2, frame->ARM_r3 };
#endif

	return n < sizeof(in) / sizeof(in[0]) ? in[n] : 0;
}

#endif
