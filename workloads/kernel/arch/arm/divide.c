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

/* The same with signs, which modules alone need. The quotient is cut off towards zero, and the rest has the dividend's sign. */
#define __for_modules __used __section(".lib.text")

static __always_inline u32 size_of(s32 n)
{
	return n < 0 ? -(u32)n : (u32)n;
}

__for_modules u64 __aeabi_idivmod(s32 dividend, s32 divisor)
{
	struct division d = divide(size_of(dividend), size_of(divisor));
	u32 quotient = (dividend ^ divisor) < 0 ? -d.quotient : d.quotient;
	u32 rest = dividend < 0 ? -d.rest : d.rest;

	return (u64)rest << 32 | quotient;
}

__for_modules s32 __aeabi_idiv(s32 dividend, s32 divisor)
{
	return (s32)__aeabi_idivmod(dividend, divisor);
}
