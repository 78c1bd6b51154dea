/* Where the running task's thread_info is, and what a CPU is told of the task that it runs. */
#ifndef _ASM_CURRENT_H
#define _ASM_CURRENT_H

#include "percpu.h"
#include "processor.h"
#include "switch_to.h"
#include "thread_info.h"

static inline struct thread_info *current_thread_info(void)
{
#ifdef __x86_64__
	return (struct thread_info *)(percpu_read(kernel_stack) + KERNEL_STACK_OFFSET - THREAD_SIZE);
#else
	/* All code runs on the stack of a task, which lies at a multiple of its size. */
	return (struct thread_info *)(current_stack_pointer() & -(unsigned long)THREAD_SIZE);
#endif
}

/* The end of the stack on which system calls are served. */
static __always_inline void set_kernel_stack(unsigned long top)
{
	percpu_write(kernel_stack, top - KERNEL_STACK_OFFSET);
}

/* The end of the stack on which an exception from user mode begins. */
static __always_inline void set_exception_stack(unsigned long top)
{
#ifdef __x86_64__
	this_cpu_ptr(init_tss)->sp[0] = top;
#else
	this_cpu_ptr(init_tss)->sp0 = top;
#endif
}

#endif
