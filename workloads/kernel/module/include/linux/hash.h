/*
 * Numbers spread over 2^bits values: the upper bits of a product with the golden ratio of the word. Which value a number
 * gets is no part of the interface.
 */
#ifndef _MODULE_LINUX_HASH_H
#define _MODULE_LINUX_HASH_H

#include <linux/types.h>

static inline u32 hash_32(u32 n, unsigned int bits)
{
	return bits ? n * 0x9e3779b1u >> (32 - bits) : 0; /* a table of one chain has no bits */
}

static inline u32 hash_64(u64 n, unsigned int bits)
{
	return hash_32((u32)n ^ hash_32((u32)(n >> 32), 32), bits);
}

#define hash_long(n, bits) hash_64((unsigned long)(n), bits)
#define hash_ptr(p, bits) hash_long(p, bits)
#define hash_min(n, bits) hash_64((u64)(n), bits)

#endif
