/*
 * Spinlocks: zero when free, else a number that the holder's CPU has put there. Who takes one sees what the
 * holder before did: isync behind the reservation, lwsync before the store that gives it back.
 */
#ifndef _ASM_SPINLOCK_H
#define _ASM_SPINLOCK_H

#include <linux/compiler.h>
#include "irqflags.h"
#include "percpu.h"

typedef struct spinlock {
	volatile unsigned int slock;
} spinlock_t;

#define SPIN_LOCK_UNLOCKED { 0 }

/* What this CPU writes into a lock: its first word of per-CPU data, which is not zero. */
DECLARE_PER_CPU(unsigned int, lock_token);

/* The word found there: zero when the lock is taken now. */
static __always_inline unsigned int spin_attempt(spinlock_t *lock)
{
	unsigned int token = percpu_read(lock_token), found;

	asm volatile("0:\tlwarx %0, 0, %2\n\t"
		     "cmpwi %0, 0\n\t"
		     "bne- 1f\n\t"
		     "stwcx. %1, 0, %2\n\t"
		     "bne- 0b\n\t"
		     "isync\n"
		     "1:"
		     : "=&r"(found) : "r"(token), "r"(&lock->slock) : "cr0", "memory");
	return found;
}

static __always_inline void arch_spin_lock(spinlock_t *lock)
{
	while (unlikely(spin_attempt(lock)))
		while (lock->slock)
			cpu_relax();
}

static __always_inline void arch_spin_unlock(spinlock_t *lock)
{
	asm volatile("lwsync" ::: "memory");
	lock->slock = 0;
}

static inline int arch_spin_is_locked(spinlock_t *lock)
{
	return lock->slock != 0;
}

#endif
