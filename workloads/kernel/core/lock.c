/* Spinlocks, the part that is out of line. */
#include <linux/spinlock.h>

#if !ERA_UNIPROCESSOR
void _spin_lock(spinlock_t *lock)
{
	preempt_disable();
	arch_spin_lock(lock);
}

unsigned long _spin_lock_irqsave(spinlock_t *lock)
{
	unsigned long flags = local_irq_save();

	preempt_disable();
	arch_spin_lock(lock);
	return flags;
}

void _spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
	arch_spin_unlock(lock);
	local_irq_restore(flags);
	preempt_enable();
}
#endif
