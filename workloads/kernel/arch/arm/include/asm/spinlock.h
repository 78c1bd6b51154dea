/*
 * Spinlocks: zero when free, else one. Who takes one sees what the holder before did: barriers behind the taking and
 * before the store that gives it back (ARM ARM, D7.3). Who waits sleeps until an event: a lock that is given back
 * is one.
 */
#ifndef _ASM_SPINLOCK_H
#define _ASM_SPINLOCK_H

#include <linux/compiler.h>
#include "irqflags.h"
#include "percpu.h"
#include "processor.h"

typedef struct spinlock {
	volatile unsigned int slock;
} spinlock_t;

#define SPIN_LOCK_UNLOCKED { 0 }

static __always_inline void arch_spin_lock(spinlock_t *lock)
{
	unsigned long busy;

	asm volatile("0:\tldrex %0, [%1]\n\t"
		     "cmp %0, #0\n\t"
		     "wfene\n\t"
		     "strexeq %0, %2, [%1]\n\t"
		     "cmpeq %0, #0\n\t"
		     "bne 0b"
		     : "=&r"(busy) : "r"(&lock->slock), "r"(1) : "cc", "memory");
	order_memory();
}

static __always_inline void arch_spin_unlock(spinlock_t *lock)
{
	order_memory();
	lock->slock = 0;
	asm volatile("dsb\n\tsev" ::: "memory");
}

static inline int arch_spin_is_locked(spinlock_t *lock)
{
	return lock->slock != 0;
}

#endif
