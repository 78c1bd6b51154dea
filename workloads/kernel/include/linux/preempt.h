/*
 * Preemption of kernel code. Without it, as a kernel is built that allows jump optimized probes,
 * nothing is counted: only the compiler must keep memory accesses on their side. With it (build.sh
 * defines PREEMPT) each task counts how often it is disabled. A task gives way when an interrupt ends,
 * or when it enables preemption for good.
 */
#ifndef _LINUX_PREEMPT_H
#define _LINUX_PREEMPT_H

#include "compiler.h"
#include "sched.h"

/* The counter belongs to the running task alone: no access to it is locked. */
static __always_inline void preempt_add(int n)
{
#ifdef PREEMPT
	current_thread_info()->preempt_count += n;
#else
	(void)n;
#endif
}

static __always_inline void preempt_disable(void)
{
	preempt_add(1);
	barrier();
}

/* For a caller that interrupts, or its own next step, keep from being preempted. */
static __always_inline void preempt_enable_no_resched(void)
{
	barrier();
	preempt_add(-1);
}

/* Out of line: gives way unless preemption or interrupts are off. */
void preempt_schedule(void);

static __always_inline void preempt_enable(void)
{
	preempt_enable_no_resched();
	barrier();
#ifdef PREEMPT
	if (need_resched())
		preempt_schedule();
#endif
}

#endif
