/* As linux/math64.h. */
#ifndef _MODULE_ASM_DIV64_H
#define _MODULE_ASM_DIV64_H

#include <linux/math64.h>

/* The quotient goes where the dividend was; the result is the rest. */
#define do_div(n, base) ({					\
	u64 rest__;						\
	(n) = div64_u64_rem(n, base, &rest__);			\
	(u32)rest__; })

#endif
