/* Changing from one task's stack to another's: switch_64.S and switch_32.S. */
#ifndef _ASM_SWITCH_TO_H
#define _ASM_SWITCH_TO_H

#include "asm.h"
#include "thread_info.h"

/* What __switch_to takes from the stack of a task that is switched to. */
struct switch_frame {
#ifdef __x86_64__
	unsigned long r15, r14, r13, arg, fn, bp, ip;
#else
	unsigned long di, arg, fn, bp, ip;
#endif
};

void kthread_entry(void);

/* Where the frame lies with which a new task begins, on a stack that ends at top. */
static inline struct switch_frame *first_frame(unsigned long top)
{
	return (struct switch_frame *)((top - KERNEL_STACK_OFFSET) & ~15UL) - 1;
}

/* And what is in it: kthread_entry calls f(a). */
#define FIRST_FRAME(f, a) {						\
	.fn = (unsigned long)(f), .arg = (a),				\
	.ip = (unsigned long)kthread_entry,				\
}

static inline unsigned long current_stack_pointer(void)
{
	unsigned long sp;

	asm("mov %%" ASM_STACK_POINTER ", %0" : "=r"(sp));
	return sp;
}

#endif
