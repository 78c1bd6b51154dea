/*
 * Preemption of kernel code. Without it, as a kernel is built that allows jump optimized probes,
 * disabling costs nothing and only orders memory accesses of the compiler. With it (build.sh defines
 * PREEMPT) a task counts how often it is disabled, and is preempted when an interrupt ends or when
 * preemption is enabled again.
 */
#ifndef _LINUX_PREEMPT_H
#define _LINUX_PREEMPT_H

#include <linux/compiler.h>

#ifdef PREEMPT

#include <linux/sched.h>

void preempt_schedule(void);

#define preempt_disable() do {					\
	current_thread_info()->preempt_count++;			\
	barrier();						\
} while (0)

#define preempt_enable_no_resched() do {			\
	barrier();						\
	current_thread_info()->preempt_count--;			\
} while (0)

#define preempt_enable() do {					\
	preempt_enable_no_resched();				\
	barrier();						\
	if (need_resched())					\
		preempt_schedule();				\
} while (0)

#else

#define preempt_disable() barrier()
#define preempt_enable() barrier()
#define preempt_enable_no_resched() barrier()

#endif

#endif
