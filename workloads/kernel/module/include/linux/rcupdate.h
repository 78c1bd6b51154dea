/* A reader is code that is not preempted. */
#ifndef _MODULE_LINUX_RCUPDATE_H
#define _MODULE_LINUX_RCUPDATE_H

#include <linux/preempt.h>

#define rcu_read_lock() preempt_disable()
#define rcu_read_unlock() preempt_enable()
#define rcu_dereference(p) READ_VOLATILE(p)

#endif
