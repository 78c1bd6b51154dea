/*
 * Spinlocks. The architecture has spinlock_t, SPIN_LOCK_UNLOCKED, arch_spin_lock, arch_spin_unlock and
 * arch_spin_is_locked. Who holds a lock is not preempted. A kernel for one processor has nobody to keep
 * out: there a lock is nothing but what it does to preemption and to interrupts.
 */
#ifndef _LINUX_SPINLOCK_H
#define _LINUX_SPINLOCK_H

#include "era.h"
#include "irqflags.h"
#include "preempt.h"
#include <asm/spinlock.h>

#define DEFINE_SPINLOCK(name) spinlock_t name = SPIN_LOCK_UNLOCKED

static inline void spin_lock_init(spinlock_t *lock)
{
	*lock = (spinlock_t)SPIN_LOCK_UNLOCKED;
}

static inline int spin_is_locked(spinlock_t *lock)
{
	return !ERA_UNIPROCESSOR && arch_spin_is_locked(lock);
}

/* core/lock.c. Taking a lock is a call. Dropping one is a call where the interrupt flag goes back, too. */
void lock_take(spinlock_t *lock);
void lock_take_for_hit(spinlock_t *lock);
unsigned long lock_take_quiet(spinlock_t *lock);
void lock_drop_quiet(spinlock_t *lock, unsigned long flags);

static __always_inline void spin_lock(spinlock_t *lock)
{
	if (ERA_UNIPROCESSOR)
		preempt_disable();
	else
		lock_take(lock);
}

static __always_inline void spin_unlock(spinlock_t *lock)
{
	if (!ERA_UNIPROCESSOR)
		arch_spin_unlock(lock);
	preempt_enable();
}

/* Without interrupts: what the flags were is the result, which the caller brings back. */
static __always_inline unsigned long lock_quietly(spinlock_t *lock)
{
	return ERA_UNIPROCESSOR ? local_irq_save() : lock_take_quiet(lock);
}

static __always_inline void unlock_quietly(spinlock_t *lock, unsigned long flags)
{
	if (ERA_UNIPROCESSOR)
		local_irq_restore(flags);
	else
		lock_drop_quiet(lock, flags);
}

/* The interface has the flags as a variable that the macro sets. */
#define spin_lock_irqsave(lock, flags) ((flags) = lock_quietly(lock))
#define spin_unlock_irqrestore(lock, flags) unlock_quietly(lock, flags)

#endif
