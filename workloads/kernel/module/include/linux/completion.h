/* Waiting until another task, or a handler, says that something is done. */
#ifndef _MODULE_LINUX_COMPLETION_H
#define _MODULE_LINUX_COMPLETION_H

#include <linux/atomic.h>
#include <linux/sched.h>

struct completion {
	atomic_t done;		/* how many may still pass */
};

#define COMPLETION_ALL 0x40000000

#define COMPLETION_INITIALIZER(name) { ATOMIC_INIT(0) }
#define DECLARE_COMPLETION(name) struct completion name = COMPLETION_INITIALIZER(name)
#define DECLARE_COMPLETION_ONSTACK(name) DECLARE_COMPLETION(name)

static inline void init_completion(struct completion *c)
{
	atomic_set(&c->done, 0);
}

static inline void reinit_completion(struct completion *c)
{
	init_completion(c);
}

/* One waiter may pass. */
static inline void complete(struct completion *c)
{
	atomic_inc(&c->done);
}

static inline void complete_all(struct completion *c)
{
	atomic_set(&c->done, COMPLETION_ALL);
}

static inline bool completion_done(struct completion *c)
{
	return atomic_read(&c->done) > 0;
}

/* True when the caller need not wait. */
static inline bool try_wait_for_completion(struct completion *c)
{
	int left;

	while ((left = atomic_read(&c->done)) > 0)
		if (left >= COMPLETION_ALL || atomic_cmpxchg(&c->done, left, left - 1) == left)
			return true;
	return false;
}

/* Looks again at every tick. What is left of the ticks, at least 1; 0: they are over. */
static inline unsigned long wait_for_completion_timeout(struct completion *c, unsigned long ticks)
{
	while (!try_wait_for_completion(c)) {
		if (!ticks--)
			return 0;
		schedule_timeout(1);
	}
	return ticks ? ticks : 1;
}

static inline void wait_for_completion(struct completion *c)
{
	while (!try_wait_for_completion(c))
		schedule_timeout(1);
}

#endif
