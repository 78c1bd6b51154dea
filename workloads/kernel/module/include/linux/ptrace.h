/* Registers of what a probe interrupted. */
#ifndef _MODULE_LINUX_PTRACE_H
#define _MODULE_LINUX_PTRACE_H

#include <asm/module.h>
#include <asm/ptrace.h>

#define profile_pc(frame) instruction_pointer(frame)

#define kernel_stack_pointer(frame) FRAME_STACK_POINTER(frame)

/* The argument of a function of that number, from 0 on, at its entry; 0 for one that is on the stack. */
static inline unsigned long regs_get_kernel_argument(const struct pt_regs *frame, unsigned int n)
{
	const unsigned long in[] = { FRAME_ARGUMENTS(frame) };

	return n < sizeof(in) / sizeof(in[0]) ? in[n] : 0;
}

#endif
