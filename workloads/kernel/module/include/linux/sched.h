/* Tasks, and sleeping. */
#ifndef _MODULE_LINUX_SCHED_H
#define _MODULE_LINUX_SCHED_H

#include_next <linux/sched.h>
#include <linux/jiffies.h>
#include <linux/mm_types.h>
#include <linux/preempt.h>
#include <linux/string.h>

#define TASK_COMM_LEN 16

#define get_current() current
/* The name of a task, copied to an array of TASK_COMM_LEN letters. */
#define get_task_comm(to, task) ((char *)memcpy(to, (task)->comm, TASK_COMM_LEN))
#define task_pid_nr(task) ((task)->pid)
#define get_cpu() ({ preempt_disable(); smp_processor_id(); })
#define put_cpu() preempt_enable()
/* A task that sleeps is marked by what puts it to sleep. */
#define set_current_state(value) barrier()
#define __set_current_state(value) barrier()
#define schedule_timeout_interruptible(n) ({ schedule_timeout(n); 0L; })
#define schedule_timeout_uninterruptible(n) ({ schedule_timeout(n); 0L; })

#endif
