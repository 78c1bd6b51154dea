/* Changing from one task's stack to another's: switch.S. */
#ifndef _ASM_SWITCH_TO_H
#define _ASM_SWITCH_TO_H

#ifndef __ASSEMBLER__

#include "percpu.h"

/* What __switch_to leaves on the stack of a task that does not run: r4 to r11, and where it goes on. */
struct switch_frame {
	unsigned long fn, arg;	/* r4 and r5, of a task that has not run yet */
	unsigned long saved[6];
	unsigned long unused;	/* the stack stays at multiples of 8 */
	unsigned long ip;
};

void kthread_entry(void);

/* Where the frame lies with which a new task begins, on a stack that ends at top. */
static inline struct switch_frame *first_frame(unsigned long top)
{
	return (struct switch_frame *)(top & ~7UL) - 1;
}

/* And what is in it: kthread_entry calls f(a). */
#define FIRST_FRAME(f, a) {						\
	.fn = (unsigned long)(f), .arg = (a),				\
	.ip = (unsigned long)kthread_entry,				\
}

#endif /* __ASSEMBLER__ */
#endif
