/*
 * The kernel is built without preemption of kernel code, as a kernel that allows jump optimized
 * probes is: disabling preemption costs nothing and only orders memory accesses of the compiler.
 */
#ifndef _LINUX_PREEMPT_H
#define _LINUX_PREEMPT_H

#include <linux/compiler.h>

#define preempt_disable() barrier()
#define preempt_enable() barrier()
#define preempt_enable_no_resched() barrier()

#endif
