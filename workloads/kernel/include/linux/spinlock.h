/*
 * Spinlocks. The architecture has spinlock_t, SPIN_LOCK_UNLOCKED, arch_spin_lock, arch_spin_unlock and
 * arch_spin_is_locked. In a kernel for one processor that cannot be preempted a lock does nothing.
 */
#ifndef _LINUX_SPINLOCK_H
#define _LINUX_SPINLOCK_H

#include <linux/era.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <asm/spinlock.h>

#define DEFINE_SPINLOCK(x) spinlock_t x = SPIN_LOCK_UNLOCKED
#define spin_is_locked(lock) arch_spin_is_locked(lock)

static inline void spin_lock_init(spinlock_t *lock)
{
	*lock = (spinlock_t)SPIN_LOCK_UNLOCKED;
}

#if ERA_UNIPROCESSOR
/* There is no other CPU: only the compiler must not move accesses across the lock. */
static __always_inline void spin_lock(spinlock_t *lock __unused)
{
	barrier();
}

static __always_inline void spin_unlock(spinlock_t *lock __unused)
{
	barrier();
}

#define spin_lock_irqsave(lock, flags) ((void)(lock), (flags) = local_irq_save())
#define spin_unlock_irqrestore(lock, flags) ((void)(lock), local_irq_restore(flags))
#else
/* Taking a lock is out of line, dropping one without interrupt flags is inline. */
void _spin_lock(spinlock_t *lock);
unsigned long _spin_lock_irqsave(spinlock_t *lock);
void _spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);

#define spin_lock(lock) _spin_lock(lock)
#define spin_unlock(lock) do {		\
	arch_spin_unlock(lock);		\
	preempt_enable();		\
} while (0)
#define spin_lock_irqsave(lock, flags) ((flags) = _spin_lock_irqsave(lock))
#define spin_unlock_irqrestore(lock, flags) _spin_unlock_irqrestore(lock, flags)
#endif

#endif
