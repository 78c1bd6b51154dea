/*
 * Which bucket of a table a pointer belongs to: the upper bits of its product with a constant near the
 * golden ratio of the word, 0x9e37fffffffc0001 for 64 bits and 0x9e370001 for 32.
 */
#ifndef _LINUX_HASH_H
#define _LINUX_HASH_H

#include <asm/asm.h>

static inline unsigned long hash_long(unsigned long x, unsigned int bits)
{
#if BITS_PER_LONG == 64
	/* The constant has few digits because kernels of these years add shifts up: multiplying was slow. */
	unsigned long top = (x << 63) + (x << 61) - (x << 57) + (x << 54) - (x << 51);

	return (top - (x << 18) + x) >> (64 - bits);
#else
	return (x * 0x9e370001UL) >> (32 - bits);
#endif
}

static inline unsigned long hash_ptr(const void *pointer, unsigned int bits)
{
	unsigned long number = (unsigned long)pointer;

	return hash_long(number, bits);
}

#endif
