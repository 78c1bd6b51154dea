/* The part of spinlocks that is out of line. */
#include <linux/spinlock.h>

#if !ERA_UNIPROCESSOR
static __always_inline void enter(spinlock_t *lock)
{
	preempt_disable();
	arch_spin_lock(lock);
}

void lock_take(spinlock_t *lock)
{
	enter(lock);
}

#if ERA_GLOBAL_HIT
/* The same for the lock of all hits: it lies where a hit's time is booked on the hit. */
__dispatch void lock_take_for_hit(spinlock_t *lock)
{
	enter(lock);
}
#endif

/* An interrupt's handler may want the same lock: interrupts go off before it is taken. */
unsigned long lock_take_quiet(spinlock_t *lock)
{
	unsigned long flags = local_irq_save();

	enter(lock);
	return flags;
}

void lock_drop_quiet(spinlock_t *lock, unsigned long flags)
{
	arch_spin_unlock(lock);
	local_irq_restore(flags);
	preempt_enable();
}
#endif
