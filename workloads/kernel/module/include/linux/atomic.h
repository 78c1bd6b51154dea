/* Numbers that several CPUs change at the same time. */
#ifndef _MODULE_LINUX_ATOMIC_H
#define _MODULE_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ATOMIC_INIT(n) { (n) }

#define atomic_read(v) READ_VOLATILE((v)->counter)
#define atomic_set(v, n) WRITE_VOLATILE((v)->counter, n)
#define atomic_set_release(v, n) __atomic_store_n(&(v)->counter, n, __ATOMIC_RELEASE)
#define smp_mb() __sync_synchronize()
#define smp_rmb() __sync_synchronize()
#define smp_wmb() __sync_synchronize()

/* Those with a result are ordered with all other accesses. */
#define atomic_add_return(n, v) __sync_add_and_fetch(&(v)->counter, n)
#define atomic_sub_return(n, v) __sync_sub_and_fetch(&(v)->counter, n)
#define atomic_inc_return(v) atomic_add_return(1, v)
#define atomic_dec_return(v) atomic_sub_return(1, v)
#define atomic_inc_and_test(v) (atomic_inc_return(v) == 0)
#define atomic_dec_and_test(v) (atomic_dec_return(v) == 0)
#define atomic_cmpxchg(v, old, new) __sync_val_compare_and_swap(&(v)->counter, old, new)
#define atomic_xchg(v, n) __atomic_exchange_n(&(v)->counter, n, __ATOMIC_SEQ_CST)
#define atomic_add(n, v) ((void)__atomic_fetch_add(&(v)->counter, n, __ATOMIC_RELAXED))
#define atomic_sub(n, v) ((void)__atomic_fetch_sub(&(v)->counter, n, __ATOMIC_RELAXED))
#define atomic_inc(v) atomic_add(1, v)
#define atomic_dec(v) atomic_sub(1, v)

/* The same of 64 bits. */
typedef struct {
	s64 counter;
} atomic64_t;

#define ATOMIC64_INIT(n) { (n) }
#define atomic64_cmpxchg(v, old, new) __sync_val_compare_and_swap(&(v)->counter, (s64)(old), (s64)(new))

/* By a comparison and an exchange, as processors of 32 bits have nothing else for 64. The first look may see halves of two
   numbers, which the comparison finds out. */
static inline s64 atomic64_add_return(s64 n, atomic64_t *v)
{
	s64 seen, old = v->counter;

	while ((seen = atomic64_cmpxchg(v, old, old + n)) != old)
		old = seen;
	return old + n;
}

static inline void atomic64_set(atomic64_t *v, s64 n)
{
	s64 seen, old = v->counter;

	while ((seen = atomic64_cmpxchg(v, old, n)) != old)
		old = seen;
}

#define atomic64_read(v) atomic64_cmpxchg((atomic64_t *)(v), 0, 0)
#define atomic64_sub_return(n, v) atomic64_add_return(-(s64)(n), v)
#define atomic64_inc_return(v) atomic64_add_return(1, v)
#define atomic64_dec_return(v) atomic64_add_return(-1, v)
#define atomic64_add(n, v) ((void)atomic64_add_return(n, v))
#define atomic64_sub(n, v) atomic64_add(-(s64)(n), v)
#define atomic64_inc(v) atomic64_add(1, v)
#define atomic64_dec(v) atomic64_add(-1, v)

/* The same of a word. */
typedef struct {
	long counter;
} atomic_long_t;

#define ATOMIC_LONG_INIT(n) { (n) }
#define atomic_long_read(v) atomic_read(v)
#define atomic_long_set(v, n) atomic_set(v, n)
#define atomic_long_inc(v) atomic_inc(v)
#define atomic_long_dec(v) atomic_dec(v)
#define atomic_long_add(n, v) atomic_add(n, v)
#define atomic_long_inc_return(v) atomic_inc_return(v)

#endif
