/* Logarithms to base 2 of whole numbers that are not 0. */
#ifndef _MODULE_LINUX_LOG2_H
#define _MODULE_LINUX_LOG2_H

#include <linux/types.h>

/* The number of the highest bit that is set. */
#define ilog2(n) (63 - __builtin_clzll((u64)(n)))

static inline bool is_power_of_2(unsigned long n)
{
	return __builtin_popcountl(n) == 1;
}

/* The smallest power of 2 that is not below n. */
static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n < 2 ? 1 : 2UL << ilog2(n - 1);
}

#endif
