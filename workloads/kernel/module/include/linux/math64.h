/* Division of numbers of 64 bits, for which processors of 32 bits have no instruction. */
#ifndef _MODULE_LINUX_MATH64_H
#define _MODULE_LINUX_MATH64_H

#include <linux/types.h>

u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *rest);

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	u64 rest;

	return div64_u64_rem(dividend, divisor, &rest);
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return div64_u64(dividend, divisor);
}

static inline s64 div_s64(s64 dividend, s32 divisor)
{
	u64 q = div64_u64(dividend < 0 ? -(u64)dividend : (u64)dividend,
			  divisor < 0 ? -(u64)divisor : (u64)divisor);

	return (dividend < 0) != (divisor < 0) ? -(s64)q : (s64)q;
}

#endif
