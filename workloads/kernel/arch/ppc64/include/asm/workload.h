/* Instructions that functions of work/ are about: see linux/workload.h. */
#ifndef _ASM_WORKLOAD_H
#define _ASM_WORKLOAD_H

#include <linux/compiler.h>
#include "asm.h"
#include "extable.h"

static __always_inline unsigned long divide_on(unsigned long rest)
{
	unsigned long dividend = (rest << 40) + 3, quotient;

	asm volatile("divdu %0, %1, %2" : "=r"(quotient) : "r"(dividend), "r"(10007UL));
	return dividend - quotient * 10007;
}

static __always_inline void copy_words(unsigned char *to, const unsigned char *from, unsigned long n)
{
	unsigned long words = n / sizeof(long), i;

	for (i = 0; i < words; i++)
		((unsigned long *)to)[i] = ((const volatile unsigned long *)from)[i];
	for (i = words * sizeof(long); i < n; i++)
		to[i] = ((const volatile unsigned char *)from)[i];
}

static __always_inline unsigned long load_or_error(const unsigned long *at, int error, long *err)
{
	unsigned long v;

	asm volatile("1:\tld %0, 0(%2)\n"
		     "2:\n\t"
		     ".pushsection .text.fixup, \"ax\"\n"
		     "3:\tli %1, %3\n\t"
		     "li %0, 0\n\t"
		     "b 2b\n\t"
		     ".popsection\n\t"
		     EXTABLE("1b", "3b")
		     : "=&r"(v), "+r"(*err) : "b"(at), "i"(error));
	return v;
}

static __always_inline void load_unmapped(void)
{
	unsigned long v;

	asm volatile("1:\tld %0, 16(0)\n"
		     "2:\n\t"
		     EXTABLE("1b", "2b") : "=r"(v));
}

/* The interrupt of a number: alignment, by a reservation of what is not aligned, or else an illegal instruction. */
static __always_inline void raise_trap(unsigned long vector)
{
	static unsigned long words[2];
	unsigned long v;

	if (vector == 0x600)
		asm volatile("1:\tlwarx %0, 0, %1\n"
			     "2:\n\t"
			     EXTABLE("1b", "2b") : "=r"(v) : "r"((char *)words + 1));
	else
		asm volatile("1:\t.long 0\n"
			     "2:\n\t"
			     EXTABLE("1b", "2b"));
}

static __always_inline __noreturn void jprobe_return_elsewhere(void)
{
	asm volatile("addi 1, 1, -16\n\t"
		     "b jprobe_return_break");
	__builtin_unreachable();
}

#endif
