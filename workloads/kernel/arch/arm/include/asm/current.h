/* Where the running task's thread_info is, and what a CPU is told of the task that it runs. */
#ifndef _ASM_CURRENT_H
#define _ASM_CURRENT_H

#include "percpu.h"
#include "processor.h"
#include "ptrace.h"
#include "switch_to.h"
#include "thread_info.h"

static inline struct thread_info *current_thread_info(void)
{
	return (struct thread_info *)current_stack();
}

/* Kernels read both there, and not among the CPU's data. */
#define current (current_thread_info()->task)
#define smp_processor_id() (current_thread_info()->cpu)

/* In user mode the stack pointer of the kernel is where the task has left it: its way in needs no other. */
static __always_inline void set_kernel_stack(unsigned long top __unused)
{
}

/* The same stack serves exceptions and system calls. */
static __always_inline void set_exception_stack(unsigned long top __unused)
{
}

#endif
