/* Where the running task's thread_info is, and what a CPU is told of the task that it runs. */
#ifndef _ASM_CURRENT_H
#define _ASM_CURRENT_H

#include "percpu.h"
#include "processor.h"
#include "ptrace.h"
#include "switch_to.h"
#include "thread_info.h"

/* All code runs on the stack of a task, which lies at a multiple of its size. */
static inline struct thread_info *current_thread_info(void)
{
	return (struct thread_info *)(current_stack_pointer() & -(unsigned long)THREAD_SIZE);
}

/* What an exception in user mode takes for its stack pointer: room for its frame is left above it. */
static __always_inline void set_kernel_stack(unsigned long top)
{
	percpu_write(kernel_stack, top - EXCEPTION_FRAME);
}

/* The same stack serves exceptions and system calls. */
static __always_inline void set_exception_stack(unsigned long top __unused)
{
}

#endif
