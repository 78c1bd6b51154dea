/* Queues of waiting tasks: they are left out. linux/completion.h has what waits for one event. */
#ifndef _MODULE_LINUX_WAIT_H
#define _MODULE_LINUX_WAIT_H

#include <linux/left_out.h>

typedef struct wait_queue_head {
	int unused;
} wait_queue_head_t;

#define DECLARE_WAIT_QUEUE_HEAD(name) wait_queue_head_t name = { 0 }

void init_waitqueue_head(wait_queue_head_t *queue) NO_THREADS;
void wake_up(wait_queue_head_t *queue) NO_THREADS;
void wake_up_interruptible(wait_queue_head_t *queue) NO_THREADS;

#endif
