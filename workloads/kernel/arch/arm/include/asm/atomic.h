/* Words that several CPUs change: see linux/atomic.h. A load marks the word for this CPU, and the store is done only
   while the mark lasts. */
#ifndef _ASM_ATOMIC_H
#define _ASM_ATOMIC_H

#include <linux/compiler.h>
#include "processor.h"

/* update(value, n): does op to a word; the result is what is there afterwards. */
#define ATOMIC_UPDATE(update, op)							\
	static __always_inline unsigned long update(unsigned long *v, unsigned long n)	\
	{										\
		unsigned long now, failed;						\
											\
		asm volatile("0:\tldrex %0, [%3]\n\t"					\
			     op " %0, %0, %4\n\t"					\
			     "strex %1, %0, [%3]\n\t"					\
			     "cmp %1, #0\n\t"						\
			     "bne 0b"							\
			     : "=&r"(now), "=&r"(failed), "+Qo"(*v)			\
			     : "r"(v), "r"(n) : "cc");					\
		return now;								\
	}

ATOMIC_UPDATE(atomic_update_add, "add")
ATOMIC_UPDATE(atomic_update_or, "orr")
ATOMIC_UPDATE(atomic_update_clear, "bic")

static __always_inline void atomic_inc(unsigned int *v)
{
	atomic_update_add((unsigned long *)v, 1);
}

static __always_inline void atomic_dec(unsigned int *v)
{
	atomic_update_add((unsigned long *)v, -1UL);
}

/* Whoever brings it to zero may rely on what the others stored before: barriers on both sides. */
static __always_inline int atomic_dec_and_test(int *v)
{
	unsigned long left;

	order_memory();
	left = atomic_update_add((unsigned long *)v, -1UL);
	order_memory();
	return left == 0;
}

static __always_inline void atomic_long_inc(unsigned long *v)
{
	atomic_update_add(v, 1);
}

static __always_inline void atomic_long_dec(unsigned long *v)
{
	atomic_update_add(v, -1UL);
}

static __always_inline void atomic_long_add(unsigned long n, unsigned long *v)
{
	atomic_update_add(v, n);
}

static __always_inline void atomic_long_or(unsigned long bits, unsigned long *v)
{
	atomic_update_or(v, bits);
}

static __always_inline unsigned long atomic_long_fetch_add(unsigned long n, unsigned long *v)
{
	unsigned long sum;

	order_memory();
	sum = atomic_update_add(v, n);
	order_memory();
	return sum - n;
}

static __always_inline void atomic_clear_bit(unsigned int bit, unsigned long *v)
{
	atomic_update_clear(v, 1UL << bit);
}

static __always_inline void atomic_fence(void)
{
	order_memory();
}

/*
 * Barriers that only kernels for the search for races have, which it has shown to be missing. Those that are measured lack them, as
 * the figures of their years were taken without.
 */
#if defined(PREEMPT) || defined(ORDERED)
#define ORDERS_FOR_SEARCH 1
#define order_for_search() order_memory()
#else
#define ORDERS_FOR_SEARCH 0
#define order_for_search() ((void)0)
#endif

/* All see the stores before it before those behind it. */
static __always_inline void atomic_publish(void)
{
	order_for_search();
}

/* The loads behind it are made behind those before it. */
static __always_inline void atomic_observe(void)
{
	order_for_search();
}

#endif
