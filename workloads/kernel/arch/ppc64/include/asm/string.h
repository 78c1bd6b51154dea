/* What memcpy and memset of core/main.c do: doublewords where both ends have them, then single bytes. */
#ifndef _ASM_STRING_H
#define _ASM_STRING_H

#include <linux/types.h>

/* One after the other, count times: load, store, and both addresses move on with them. */
#define MOVE_UNITS(count, load, store, size)						\
	asm volatile("mtctr %2\n"							\
		     "0:\t" load " 0, " size "(%1)\n\t"				\
		     store " 0, " size "(%0)\n\t"					\
		     "bdnz 0b"								\
		     : "+b"(to), "+b"(from) : "r"(count) : "r0", "ctr", "memory")

#define FILL_UNITS(count, store, size, value)						\
	asm volatile("mtctr %1\n"							\
		     "0:\t" store " %2, " size "(%0)\n\t"				\
		     "bdnz 0b"								\
		     : "+b"(to) : "r"(count), "r"(value) : "ctr", "memory")

static __always_inline void copy_bytes(void *dest, const void *src, size_t n)
{
	char *to = dest;
	const char *from = src;

	if (!(((unsigned long)to | (unsigned long)from) & 7) && n >= 8) {
		to -= 8;
		from -= 8;
		MOVE_UNITS(n / 8, "ldu", "stdu", "8");
		to += 8;
		from += 8;
		n %= 8;
	}
	if (!n)
		return;
	to--;
	from--;
	MOVE_UNITS(n, "lbzu", "stbu", "1");
}

static __always_inline void fill_bytes(void *dest, int c, size_t n)
{
	char *to = dest;

	if (!((unsigned long)to & 7) && n >= 8) {
		to -= 8;
		FILL_UNITS(n / 8, "stdu", "8", (c & 0xff) * 0x0101010101010101UL);
		to += 8;
		n %= 8;
	}
	if (!n)
		return;
	to--;
	FILL_UNITS(n, "stbu", "1", c);
}

#endif
