/*
 * Multiplicative hashing of pointers: the upper bits of the product with 0x9e37fffffffc0001 modulo
 * 2^64, with words of 32 bits 0x9e370001 modulo 2^32.
 */
#ifndef _LINUX_HASH_H
#define _LINUX_HASH_H

#include <linux/types.h>
#include <asm/asm.h>

#if BITS_PER_LONG == 64
/*
 * The multiplier has eight set or borrowed bits, 2^63+2^61-2^57+2^54-2^51... down to 2^18 and 1;
 * kernels of this age spell the product out in shifts, because multiplying was slow.
 */
static inline unsigned long hash_long(unsigned long x, unsigned int bits)
{
	unsigned long h = x;
	unsigned long s = x << 18;

	h -= s;
	s <<= 33;
	h -= s;
	s <<= 3;
	h += s;
	s <<= 3;
	h -= s;
	s <<= 4;
	h += s;
	s <<= 2;
	h += s;
	return h >> (64 - bits);
}
#else
static inline unsigned long hash_long(unsigned long x, unsigned int bits)
{
	return x * 0x9e370001UL >> (BITS_PER_LONG - bits);
}
#endif

static inline unsigned long hash_ptr(const void *p, unsigned int bits)
{
	return hash_long((unsigned long)p, bits);
}

#endif
