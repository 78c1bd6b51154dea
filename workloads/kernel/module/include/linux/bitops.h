/* Bits of words; set_bit and clear_bit may be done by several CPUs at the same time. */
#ifndef _MODULE_LINUX_BITOPS_H
#define _MODULE_LINUX_BITOPS_H

#include <asm/asm.h>
#include <linux/compiler.h>

#define BIT(n) (1UL << (n))
#define BIT_OF_WORD(nr) BIT((nr) % BITS_PER_LONG)
#define WORD_OF_BIT(nr, at) ((unsigned long *)(at) + (nr) / BITS_PER_LONG)

#define set_bit(nr, at) ((void)__sync_fetch_and_or(WORD_OF_BIT(nr, at), BIT_OF_WORD(nr)))
#define clear_bit(nr, at) ((void)__sync_fetch_and_and(WORD_OF_BIT(nr, at), ~BIT_OF_WORD(nr)))
#define test_bit(nr, at) (!!(READ_VOLATILE(*WORD_OF_BIT(nr, at)) & BIT_OF_WORD(nr)))
#define test_and_set_bit(nr, at) \
	(!!(__sync_fetch_and_or(WORD_OF_BIT(nr, at), BIT_OF_WORD(nr)) & BIT_OF_WORD(nr)))

#endif
