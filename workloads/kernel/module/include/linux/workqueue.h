/* Work that a thread of the kernel does later: it is left out. */
#ifndef _MODULE_LINUX_WORKQUEUE_H
#define _MODULE_LINUX_WORKQUEUE_H

#include <linux/left_out.h>
#include <linux/types.h>

struct workqueue_struct;

struct work_struct {
	void (*func)(struct work_struct *);
};

#define INIT_WORK(work, function) ((void)((work)->func = (function)))
#define DECLARE_WORK(name, function) struct work_struct name = { .func = (function) }

bool schedule_work(struct work_struct *work) NO_THREADS;
bool queue_work(struct workqueue_struct *queue, struct work_struct *work) NO_THREADS;
bool flush_work(struct work_struct *work) NO_THREADS;
bool cancel_work_sync(struct work_struct *work) NO_THREADS;

#endif
