/* Spinlocks. There are no halves of interrupts: who keeps those away disables preemption. */
#ifndef _MODULE_LINUX_SPINLOCK_H
#define _MODULE_LINUX_SPINLOCK_H

#include_next <linux/spinlock.h>
#include <linux/sched.h>

typedef spinlock_t raw_spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name) SPIN_LOCK_UNLOCKED
#define DEFINE_RAW_SPINLOCK(name) DEFINE_SPINLOCK(name)
#define raw_spin_lock_init(lock) spin_lock_init(lock)
#define raw_spin_lock(lock) spin_lock(lock)
#define raw_spin_unlock(lock) spin_unlock(lock)
#define raw_spin_lock_irqsave(lock, flags) spin_lock_irqsave(lock, flags)
#define raw_spin_unlock_irqrestore(lock, flags) spin_unlock_irqrestore(lock, flags)
#define spin_lock_bh(lock) spin_lock(lock)
#define spin_unlock_bh(lock) spin_unlock(lock)

static inline void spin_lock_irq(spinlock_t *lock)
{
	local_irq_disable();
	spin_lock(lock);
}

static inline void spin_unlock_irq(spinlock_t *lock)
{
	spin_unlock(lock);
	local_irq_enable();
}

static __always_inline unsigned long irq_flags_taken(void)
{
	return local_irq_save();
}

/* The interface has the flags as a variable that the macro sets. */
#define local_irq_save(flags) ((flags) = irq_flags_taken())
#define local_save_flags(flags) do { local_irq_save(flags); local_irq_restore(flags); } while (0)

#endif
