/*
 * Which bucket of a table a pointer belongs to: the upper bits of its product with a constant near the
 * golden ratio of the word, 0x9e37fffffffc0001 for 64 bits and 0x9e370001 for 32.
 */
#ifndef _LINUX_HASH_H
#define _LINUX_HASH_H

#include <asm/asm.h>

/* 2^63 + 2^61 - 2^57 + 2^54 - 2^51 - 2^18 + 1 has few digits: adding shifts up was faster than multiplying. */
static inline unsigned long hash_ptr(const void *pointer, unsigned int bits)
{
	const unsigned long n = (unsigned long)pointer;
#if BITS_PER_LONG == 64
	unsigned long sum = (n << 63) + (n << 61) - (n << 57) + (n << 54) - (n << 51);

	sum += n - (n << 18);
#else
	unsigned long sum = n * 0x9e370001UL;
#endif
	return sum >> (BITS_PER_LONG - bits);
}

#endif
