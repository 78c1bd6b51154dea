/*
 * Numbers that look like chance. They are the same in each run, as a simulation has no chance: a file that draws has a
 * sequence of its own, x = x * 1664525 + 1013904223 (Press et al., Numerical Recipes, section 7.1), of which the upper
 * half is used.
 */
#ifndef _MODULE_LINUX_RANDOM_H
#define _MODULE_LINUX_RANDOM_H

#include <linux/types.h>

static inline u32 get_random_u32(void)
{
	static u32 drawn;
	u32 high;

	drawn = drawn * 1664525u + 1013904223u;
	high = drawn & 0xffff0000u;
	drawn = drawn * 1664525u + 1013904223u;
	return high | drawn >> 16;
}

#define prandom_u32() get_random_u32()
#define random32() get_random_u32()
#define get_random_int() get_random_u32()

static inline void get_random_bytes(void *to, int n)
{
	for (u8 *at = to; n > 0; n--)
		*at++ = (u8)(get_random_u32() >> 24);
}

#endif
