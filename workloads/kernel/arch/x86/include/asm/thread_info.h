/* Stacks of tasks, flags of tasks, and the CPU state of one that is not running. */
#ifndef _ASM_THREAD_INFO_H
#define _ASM_THREAD_INFO_H

#define KERNEL_STACK_OFFSET 40	/* room above kernel_stack for the five words of an exception */
#define THREAD_BYTES 8192
#define NEED_RESCHED_BIT 3

/* Assembly knows no enumerators, and the simulator no macros. */
#ifdef __ASSEMBLER__
#define THREAD_SIZE THREAD_BYTES
#define TIF_NEED_RESCHED NEED_RESCHED_BIT
#else

enum thread_size {
	THREAD_SIZE = THREAD_BYTES,	/* bytes of a kernel stack, and what it is aligned to */
};

/* Bits of thread_info.flags. */
enum thread_flags {
	TIF_NEED_RESCHED = NEED_RESCHED_BIT,
	TIF_DEBUGCTLMSR = 25,
};

#define _TIF_DEBUGCTLMSR (1 << TIF_DEBUGCTLMSR)

struct thread_struct {
	unsigned long sp;	/* stack pointer at its context switch */
	unsigned long debugreg6; /* what the last debug exception left, as the task sees it */
	unsigned long debugctl;
};

#endif /* __ASSEMBLER__ */
#endif
