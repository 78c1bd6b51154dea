/* Locks whose waiters sleep. */
#ifndef _MODULE_LINUX_MUTEX_H
#define _MODULE_LINUX_MUTEX_H

#include <linux/atomic.h>

struct mutex {
	atomic_t taken;
};

#define __MUTEX_INITIALIZER(name) { { 0 } }
#define DEFINE_MUTEX(name) struct mutex name = __MUTEX_INITIALIZER(name)

static inline void mutex_init(struct mutex *lock)
{
	atomic_set(&lock->taken, 0);
}

/* 1 when the lock is taken now. */
static inline int mutex_trylock(struct mutex *lock)
{
	return atomic_cmpxchg(&lock->taken, 0, 1) == 0;
}

static inline void mutex_unlock(struct mutex *lock)
{
	atomic_set_release(&lock->taken, 0);
}

void mutex_lock(struct mutex *lock);

#endif
