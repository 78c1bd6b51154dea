/* Instructions that functions of work/ are about: see linux/workload.h. */
#ifndef _ASM_WORKLOAD_H
#define _ASM_WORKLOAD_H

#include <linux/compiler.h>
#include "asm.h"
#include "extable.h"

static __always_inline unsigned long divide_on(unsigned long rest)
{
	unsigned long quotient = 3;

	asm volatile("div %2" : "+a"(quotient), "+d"(rest) : "r"(10007UL) : "cc");
	return rest;
}

static __always_inline void copy_words(unsigned char *to, const unsigned char *from, unsigned long n)
{
	unsigned long words = n / sizeof(long);

	asm volatile("rep " ASM_MOVS "\n\tmov %3, %2\n\trep movsb"
		     : "+D"(to), "+S"(from), "+c"(words) : "r"(n % sizeof(long)) : "memory");
}

static __always_inline unsigned long load_or_error(const unsigned long *at, int error, long *err)
{
	unsigned long v;

	asm volatile("1:\tmov %2, %0\n"
		     "2:\n\t"
		     ".pushsection .text.fixup, \"ax\"\n"
		     "3:\tmov %3, %1\n\t"
		     "xorl %k0, %k0\n\t"
		     "jmp 2b\n\t"
		     ".popsection\n\t"
		     EXTABLE("1b", "3b")
		     : "=&r"(v), "+r"(*err) : "m"(*at), "i"(error));
	return v;
}

static __always_inline void load_unmapped(void)
{
	unsigned long v;

	asm volatile("1:\tmov 0x10, %0\n"
		     "2:\n\t"
		     EXTABLE("1b", "2b") : "=r"(v));
}

/* The trap of a number: divide error, invalid opcode, or general protection by a selector that no table has. */
static __always_inline void raise_trap(unsigned long vector)
{
	unsigned long none = 0;

	if (vector == 0)
		asm volatile("1:\tdivl %k0\n"
			     "2:\n\t"
			     EXTABLE("1b", "2b") : "+r"(none) : : "ax", "dx", "cc");
	else if (vector == 6)
		asm volatile("1:\tud2\n"
			     "2:\n\t"
			     EXTABLE("1b", "2b"));
	else
		asm volatile("1:\tmov %0, %%fs\n"
			     "2:\n\t"
			     EXTABLE("1b", "2b") : : "r"(0xfff8));
}

static __always_inline __noreturn void jprobe_return_elsewhere(void)
{
	asm volatile("sub $16, %" ASM_STACK_POINTER "\n\t"
		     "jmp jprobe_return_break");
	__builtin_unreachable();
}

#endif
