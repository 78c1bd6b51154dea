/*
 * Time in nanoseconds since the machine started: the clock of the simulation. Reading it costs its call. Before
 * 4.10 a time was a union, and so only the functions below look into one.
 */
#ifndef _MODULE_LINUX_KTIME_H
#define _MODULE_LINUX_KTIME_H

#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/time.h>
#include <linux/types.h>

#if ERA >= 2017
typedef s64 ktime_t;
#define KTIME_OF(ns) (ns)
#define KTIME_NS(kt) (kt)
#else
typedef union {
	s64 tv64;
} ktime_t;
#define KTIME_OF(ns) ((ktime_t){ .tv64 = (ns) })
#define KTIME_NS(kt) ((kt).tv64)
#endif

ktime_t ktime_get(void);
ktime_t ktime_get_real(void);
#define ktime_get_ns() ktime_to_ns(ktime_get())
#define ktime_get_boottime() ktime_get()

static inline s64 ktime_to_ns(const ktime_t kt)
{
	return KTIME_NS(kt);
}

static inline ktime_t ns_to_ktime(u64 ns)
{
	return KTIME_OF((s64)ns);
}

static inline ktime_t ktime_set(const s64 seconds, const unsigned long ns)
{
	return KTIME_OF(seconds * NSEC_PER_SEC + (s64)ns);
}

static inline ktime_t ktime_sub(const ktime_t later, const ktime_t earlier)
{
	return KTIME_OF(KTIME_NS(later) - KTIME_NS(earlier));
}

static inline ktime_t ktime_add(const ktime_t a, const ktime_t b)
{
	return KTIME_OF(KTIME_NS(a) + KTIME_NS(b));
}

static inline ktime_t ktime_add_ns(const ktime_t kt, u64 ns)
{
	return KTIME_OF(KTIME_NS(kt) + (s64)ns);
}

/* Negative, 0 or positive, as a is earlier, the same or later. */
static inline int ktime_compare(const ktime_t a, const ktime_t b)
{
	return (KTIME_NS(a) > KTIME_NS(b)) - (KTIME_NS(a) < KTIME_NS(b));
}

static inline bool ktime_after(const ktime_t a, const ktime_t b)
{
	return ktime_compare(a, b) > 0;
}

static inline bool ktime_before(const ktime_t a, const ktime_t b)
{
	return ktime_compare(a, b) < 0;
}

static inline s64 ktime_to_us(const ktime_t kt)
{
	return div_s64(KTIME_NS(kt), NSEC_PER_USEC);
}

static inline s64 ktime_to_ms(const ktime_t kt)
{
	return div_s64(KTIME_NS(kt), NSEC_PER_MSEC);
}

static inline s64 ktime_us_delta(const ktime_t later, const ktime_t earlier)
{
	return ktime_to_us(ktime_sub(later, earlier));
}

#endif
