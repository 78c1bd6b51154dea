/* Division, which processors of the architecture need not have: what compilers call for it (Run-time ABI for the
   ARM Architecture, IHI 0043, section 4.3.1). */
#include <linux/compiler.h>
#include <linux/types.h>

struct division {
	u32 quotient, rest;
};

/* One bit of the quotient after the other, from the first that can be set. By zero the quotient is zero. */
static __always_inline struct division divide(u32 dividend, u32 divisor)
{
	struct division d = { 0, dividend };
	int shift;

	if (!divisor || dividend < divisor)
		return d;
	for (shift = __builtin_clz(divisor) - __builtin_clz(dividend); shift >= 0; shift--) {
		if (d.rest >= divisor << shift) {
			d.rest -= divisor << shift;
			d.quotient |= 1U << shift;
		}
	}
	return d;
}

__used u32 __aeabi_uidiv(u32 dividend, u32 divisor)
{
	return divide(dividend, divisor).quotient;
}

/* The quotient in r0 and the rest in r1, which is how a number of 64 bits is returned. */
__used u64 __aeabi_uidivmod(u32 dividend, u32 divisor)
{
	struct division d = divide(dividend, divisor);

	return (u64)d.rest << 32 | d.quotient;
}
