/* Instructions that functions of work/ are about: see linux/workload.h. */
#ifndef _ASM_WORKLOAD_H
#define _ASM_WORKLOAD_H

#include <linux/compiler.h>
#include "asm.h"
#include "extable.h"

/* Processors of the architecture need not divide: two long multiplications take their place, the second of which
   waits for the first. */
static __always_inline unsigned long divide_on(unsigned long rest)
{
	unsigned long low, high, quotient;

	asm volatile("umull %0, %1, %3, %4\n\t"
		     "umull %1, %2, %0, %5"
		     : "=&r"(low), "=&r"(high), "=&r"(quotient) : "r"(rest), "r"(0x9e3779b1UL), "r"(10007UL));
	return quotient + 1;
}

static __always_inline void copy_words(unsigned char *to, const unsigned char *from, unsigned long n)
{
	unsigned long words = n / sizeof(long), i;

	/* Either end may be anywhere: loads and stores of one word need not be aligned, those of several must. */
	for (i = 0; i < words; i++)
		asm volatile("ldr r12, [%1], #4\n\tstr r12, [%0], #4" : "+r"(to), "+r"(from) :: "r12", "memory");
	for (i = n % sizeof(long); i; i--)
		asm volatile("ldrb r12, [%1], #1\n\tstrb r12, [%0], #1" : "+r"(to), "+r"(from) :: "r12", "memory");
}

static __always_inline unsigned long load_or_error(const unsigned long *at, int error, long *err)
{
	unsigned long v;

	asm volatile("1:\tldr %0, [%2]\n"
		     "2:\n\t"
		     ".pushsection .text.fixup, \"ax\"\n"
		     "3:\tmvn %1, %3\n\t"
		     "mov %0, #0\n\t"
		     "b 2b\n\t"
		     ".popsection\n\t"
		     EXTABLE("1b", "3b")
		     : "=&r"(v), "+r"(*err) : "r"(at), "i"(~error));
	return v;
}

static __always_inline void load_unmapped(void)
{
	unsigned long v;

	asm volatile("mov %0, #16\n"
		     "1:\tldr %0, [%0]\n"
		     "2:\n\t"
		     EXTABLE("1b", "2b") : "=r"(v));
}

/* Only aborts reach a fault handler here: of a load from a page that is not there. */
static __always_inline void raise_trap(unsigned long number __unused)
{
	load_unmapped();
}

static __always_inline __noreturn void jprobe_return_elsewhere(void)
{
	asm volatile("sub sp, sp, #16\n\t"
		     "b jprobe_return");
	__builtin_unreachable();
}

#endif
