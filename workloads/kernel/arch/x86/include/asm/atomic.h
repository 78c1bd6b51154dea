/* Words that several CPUs change: see linux/atomic.h. */
#ifndef _ASM_ATOMIC_H
#define _ASM_ATOMIC_H

#include <linux/compiler.h>
#include "asm.h"

static __always_inline void atomic_inc(unsigned int *v)
{
	asm volatile("lock incl %0" : "+m"(*v) :: "memory", "cc");
}

static __always_inline void atomic_dec(unsigned int *v)
{
	asm volatile("lock decl %0" : "+m"(*v) :: "memory", "cc");
}

static __always_inline int atomic_dec_and_test(int *v)
{
	unsigned char zero;

	asm volatile("lock decl %0\n\tsete %1" : "+m"(*v), "=qm"(zero) :: "memory", "cc");
	return zero;
}

static __always_inline void atomic_long_inc(unsigned long *v)
{
	asm volatile("lock inc%z0 %0" : "+m"(*v) :: "memory", "cc");
}

static __always_inline void atomic_long_dec(unsigned long *v)
{
	asm volatile("lock dec%z0 %0" : "+m"(*v) :: "memory", "cc");
}

static __always_inline void atomic_long_add(unsigned long n, unsigned long *v)
{
	asm volatile("lock add%z0 %1, %0" : "+m"(*v) : "ri"(n) : "memory", "cc");
}

static __always_inline void atomic_long_or(unsigned long bits, unsigned long *v)
{
	asm volatile("lock or%z0 %1, %0" : "+m"(*v) : "r"(bits) : "memory", "cc");
}

static __always_inline unsigned long atomic_long_fetch_add(unsigned long n, unsigned long *v)
{
	asm volatile("lock xadd %0, %1" : "+r"(n), "+m"(*v) :: "memory", "cc");
	return n;
}

/* The bit's number is a constant. */
static __always_inline void atomic_clear_bit(unsigned int bit, unsigned long *v)
{
	asm volatile("lock btr%z0 %1, %0" : "+m"(*v) : "I"(bit) : "memory", "cc");
}

/* Any locked instruction will do; the top of the stack is in the cache. */
static __always_inline void atomic_fence(void)
{
	asm volatile("lock orl $0, (%%" ASM_STACK_POINTER ")" ::: "memory", "cc");
}

#define ORDERS_FOR_SEARCH 0

/* Stores are seen in their order. */
static __always_inline void atomic_publish(void)
{
}

/* Loads are made in their order. */
static __always_inline void atomic_observe(void)
{
}

#endif
