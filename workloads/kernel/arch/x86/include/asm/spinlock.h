/*
 * Ticket spinlocks: the low byte names the ticket being served, the next byte the ticket to hand
 * out. Taking one is a locked exchange-and-add, dropping one a plain increment of the low byte.
 */
#ifndef _ASM_SPINLOCK_H
#define _ASM_SPINLOCK_H

#include <linux/compiler.h>

typedef struct spinlock {
	unsigned int slock;
} spinlock_t;

#define SPIN_LOCK_UNLOCKED { 0 }

static __always_inline void arch_spin_lock(spinlock_t *lock)
{
	unsigned short ticket = 0x100;

	asm volatile("lock xaddw %w0, %1\n"
		     "0:\tcmpb %h0, %b0\n\t"
		     "je 1f\n\t"
		     "pause\n\t"
		     "movb %1, %b0\n\t"
		     "jmp 0b\n"
		     "1:"
		     : "+Q"(ticket), "+m"(lock->slock) :: "memory", "cc");
}

static __always_inline void arch_spin_unlock(spinlock_t *lock)
{
	asm volatile("incb %0" : "+m"(lock->slock) :: "memory", "cc");
}

static inline int arch_spin_is_locked(spinlock_t *lock)
{
	unsigned int v = READ_VOLATILE(lock->slock);

	return ((v >> 8) & 0xff) != (v & 0xff);
}

#endif
