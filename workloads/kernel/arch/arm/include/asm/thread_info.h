/* Stacks of tasks, flags of tasks, and the CPU state of one that is not running. */
#ifndef _ASM_THREAD_INFO_H
#define _ASM_THREAD_INFO_H

#define THREAD_SHIFT 13
#define NEED_RESCHED_BIT 3

/* Assembly knows no enumerators, and the simulator no macros. */
#ifdef __ASSEMBLER__
#define THREAD_SIZE (1 << THREAD_SHIFT)
#define TIF_NEED_RESCHED NEED_RESCHED_BIT
#else

enum thread_size {
	THREAD_SIZE = 1 << THREAD_SHIFT, /* bytes of a kernel stack, and what it is aligned to */
};

/* Bits of thread_info.flags. */
enum thread_flags {
	TIF_NEED_RESCHED = NEED_RESCHED_BIT,
};

struct thread_struct {
	unsigned long sp;	/* stack pointer at its context switch */
};

#endif /* __ASSEMBLER__ */

#define TI_CPU 8	/* where the CPU's number is in struct thread_info, asserted in setup.c */

#endif
