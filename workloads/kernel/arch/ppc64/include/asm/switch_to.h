/* Changing from one task's stack to another's: switch.S. */
#ifndef _ASM_SWITCH_TO_H
#define _ASM_SWITCH_TO_H

/* The frame of __switch_to on the stack of a task that does not run: offsets for assembly. */
#define SWITCH_GPRS 112
#define SWITCH_FRAME (SWITCH_GPRS + 8 * 18)
#define CALLER_CR 8	/* in the frame of its caller */
#define CALLER_LR 16

#ifndef __ASSEMBLER__

#include "asm.h"
#include "thread_info.h"

struct switch_frame {
	unsigned long header[14];	/* the caller's frame, and room for what is called */
	union {
		unsigned long gpr[18];	/* r14 to r31 */
		struct {
			unsigned long fn, arg; /* of a task that has not run yet */
		};
	};
	unsigned long back, cr, ip;	/* the first words of the caller's frame */
	unsigned long rest[11];
};

_Static_assert(__builtin_offsetof(struct switch_frame, gpr) == SWITCH_GPRS, "switch.S");
_Static_assert(__builtin_offsetof(struct switch_frame, back) == SWITCH_FRAME, "switch.S");
_Static_assert(__builtin_offsetof(struct switch_frame, ip) == SWITCH_FRAME + CALLER_LR, "switch.S");

void kthread_entry(void);

/* The code of a function, which a pointer to it leads to. */
static inline unsigned long code_of(const void *function)
{
	return *(const unsigned long *)function;
}

/* Where the frame lies with which a new task begins, on a stack that ends at top. */
static inline struct switch_frame *first_frame(unsigned long top)
{
	return (struct switch_frame *)(top & ~15UL) - 1;
}

/* And what is in it: kthread_entry calls f(a). */
#define FIRST_FRAME(f, a) {						\
	.fn = (unsigned long)(f), .arg = (a),				\
	.ip = code_of(kthread_entry),					\
}

static inline unsigned long current_stack_pointer(void)
{
	unsigned long sp;

	asm("mr %0, 1" : "=r"(sp));
	return sp;
}

#endif /* __ASSEMBLER__ */
#endif
