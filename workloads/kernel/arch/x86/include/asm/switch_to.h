/* Changing from one task's stack to another's: switch_64.S and switch_32.S. */
#ifndef _ASM_SWITCH_TO_H
#define _ASM_SWITCH_TO_H

#include <asm/asm.h>

/*
 * What switch_to_asm takes from the stack of a task that is switched to. A new task has the address
 * of kthread_entry in ip, which calls fn(arg).
 */
struct switch_frame {
#ifdef __x86_64__
	unsigned long r15, r14, r13, arg, fn, bp, ip;
#else
	unsigned long di, arg, fn, bp, ip;
#endif
};

static inline unsigned long current_stack_pointer(void)
{
	unsigned long sp;

	asm("mov %%" ASM_STACK_POINTER ", %0" : "=r"(sp));
	return sp;
}

#endif
