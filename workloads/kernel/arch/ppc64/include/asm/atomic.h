/* Words that several CPUs change: see linux/atomic.h. A load takes a reservation, and the store is done only
   while it lasts. */
#ifndef _ASM_ATOMIC_H
#define _ASM_ATOMIC_H

#include <linux/compiler.h>
#include "asm.h"

/* update(value, n): does op to a word of the width of suffix; the result is what is there afterwards. */
#define ATOMIC_UPDATE(update, type, suffix, op)						\
	static __always_inline type update(type *v, type n)				\
	{										\
		type now;								\
											\
		asm volatile("0:\tl" suffix "arx %0, 0, %3\n\t"				\
			     op " %0, %0, %2\n\t"					\
			     "st" suffix "cx. %0, 0, %3\n\t"				\
			     "bne- 0b"							\
			     : "=&r"(now), "+m"(*v) : "r"(n), "r"(v) : "cr0", "memory");	\
		return now;								\
	}

ATOMIC_UPDATE(atomic_update_add, unsigned int, "w", "add")
ATOMIC_UPDATE(atomic_long_update_add, unsigned long, "d", "add")
ATOMIC_UPDATE(atomic_long_update_or, unsigned long, "d", "or")
ATOMIC_UPDATE(atomic_long_update_andc, unsigned long, "d", "andc")

static __always_inline void atomic_inc(unsigned int *v)
{
	atomic_update_add(v, 1);
}

static __always_inline void atomic_dec(unsigned int *v)
{
	atomic_update_add(v, -1U);
}

/* Whoever brings it to zero may rely on what the others stored before: barriers on both sides. */
static __always_inline int atomic_dec_and_test(int *v)
{
	unsigned int left;

	asm volatile("lwsync" ::: "memory");
	left = atomic_update_add((unsigned int *)v, -1U);
	asm volatile("isync" ::: "memory");
	return left == 0;
}

static __always_inline void atomic_long_inc(unsigned long *v)
{
	atomic_long_update_add(v, 1);
}

static __always_inline void atomic_long_dec(unsigned long *v)
{
	atomic_long_update_add(v, -1UL);
}

static __always_inline void atomic_long_add(unsigned long n, unsigned long *v)
{
	atomic_long_update_add(v, n);
}

static __always_inline void atomic_long_or(unsigned long bits, unsigned long *v)
{
	atomic_long_update_or(v, bits);
}

static __always_inline unsigned long atomic_long_fetch_add(unsigned long n, unsigned long *v)
{
	unsigned long sum;

	asm volatile("lwsync" ::: "memory");
	sum = atomic_long_update_add(v, n);
	asm volatile("isync" ::: "memory");
	return sum - n;
}

static __always_inline void atomic_clear_bit(unsigned int bit, unsigned long *v)
{
	atomic_long_update_andc(v, 1UL << bit);
}

static __always_inline void atomic_fence(void)
{
	asm volatile("sync" ::: "memory");
}

/*
 * Barriers that only kernels for the search for races have, which it has shown to be missing. Those that are measured lack them, as
 * the figures of their years were taken without.
 */
#if defined(PREEMPT) || defined(ORDERED)
#define ORDERS_FOR_SEARCH 1
#define order_for_search() asm volatile("lwsync" ::: "memory")
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
