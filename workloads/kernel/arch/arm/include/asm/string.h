/* What memcpy and memset of core/main.c do: four words at a time where both ends have them, then single bytes. */
#ifndef _ASM_STRING_H
#define _ASM_STRING_H

#include <linux/types.h>

static __always_inline void copy_bytes(void *dest, const void *src, size_t n)
{
	char *to = dest;
	const char *from = src;

	if (!(((unsigned long)to | (unsigned long)from) & 3)) {
		for (; n >= 16; n -= 16)
			asm volatile("ldmia %1!, {r4-r7}\n\tstmia %0!, {r4-r7}"
				     : "+r"(to), "+r"(from) :: "r4", "r5", "r6", "r7", "memory");
		for (; n >= 4; n -= 4)
			asm volatile("ldr r4, [%1], #4\n\tstr r4, [%0], #4"
				     : "+r"(to), "+r"(from) :: "r4", "memory");
	}
	/* Written in assembly: a compiler makes a call of memcpy out of a loop in C. */
	for (; n; n--)
		asm volatile("ldrb r4, [%1], #1\n\tstrb r4, [%0], #1"
			     : "+r"(to), "+r"(from) :: "r4", "memory");
}

static __always_inline void fill_bytes(void *dest, int c, size_t n)
{
	unsigned long word = (c & 0xff) * 0x01010101UL;
	char *to = dest;

	if (!((unsigned long)to & 3))
		for (; n >= 4; n -= 4)
			asm volatile("str %1, [%0], #4" : "+r"(to) : "r"(word) : "memory");
	for (; n; n--)
		asm volatile("strb %1, [%0], #1" : "+r"(to) : "r"(word) : "memory");
}

#endif
