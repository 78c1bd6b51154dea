/* What memcpy and memset of core/main.c do. */
#ifndef _ASM_STRING_H
#define _ASM_STRING_H

#include <linux/types.h>

static __always_inline void copy_bytes(void *to, const void *from, size_t n)
{
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
}

static __always_inline void fill_bytes(void *to, int c, size_t n)
{
	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
}

#endif
