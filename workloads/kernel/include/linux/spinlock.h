/*
 * Ticket spinlocks: the low byte names the ticket being served, the next byte the ticket to hand
 * out. Taking one is a locked exchange-and-add, dropping one a plain increment of the low byte.
 * In a kernel for one processor that cannot be preempted neither does anything.
 */
#ifndef _LINUX_SPINLOCK_H
#define _LINUX_SPINLOCK_H

#include <linux/era.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>

typedef struct spinlock {
	unsigned int slock;
} spinlock_t;

#define SPIN_LOCK_UNLOCKED { 0 }
#define DEFINE_SPINLOCK(x) spinlock_t x = SPIN_LOCK_UNLOCKED

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->slock = 0;
}

#if ERA_UNIPROCESSOR
static __always_inline void ticket_lock(spinlock_t *lock __unused)
{
	barrier();
}

static __always_inline void ticket_unlock(spinlock_t *lock __unused)
{
	barrier();
}
#else
static __always_inline void ticket_lock(spinlock_t *lock)
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

static __always_inline void ticket_unlock(spinlock_t *lock)
{
	asm volatile("incb %0" : "+m"(lock->slock) :: "memory", "cc");
}
#endif

static inline int spin_is_locked(spinlock_t *lock)
{
	unsigned int v = READ_VOLATILE(lock->slock);

	return ((v >> 8) & 0xff) != (v & 0xff);
}

#if ERA_UNIPROCESSOR
#define spin_lock(lock) ticket_lock(lock)
#define spin_unlock(lock) ticket_unlock(lock)
#define spin_lock_irqsave(lock, flags) ((void)(lock), (flags) = local_irq_save())
#define spin_unlock_irqrestore(lock, flags) ((void)(lock), local_irq_restore(flags))
#else
/* Taking a lock is out of line, dropping one without interrupt flags is inline. */
void _spin_lock(spinlock_t *lock);
unsigned long _spin_lock_irqsave(spinlock_t *lock);
void _spin_unlock_irqrestore(spinlock_t *lock, unsigned long flags);

#define spin_lock(lock) _spin_lock(lock)
#define spin_unlock(lock) do {		\
	ticket_unlock(lock);		\
	preempt_enable();		\
} while (0)
#define spin_lock_irqsave(lock, flags) ((flags) = _spin_lock_irqsave(lock))
#define spin_unlock_irqrestore(lock, flags) _spin_unlock_irqrestore(lock, flags)
#endif

#endif
