/* Text of a panic, built by hand: printk may not work any more. Each returns where to go on. */
#ifndef _LINUX_TELL_H
#define _LINUX_TELL_H

#include <asm/asm.h>

static char *put_text(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	*to = 0;
	return to;
}

static char *put_hex(char *to, unsigned long v)
{
	int shift = BITS_PER_LONG - 4;

	to = put_text(to, "0x");
	while (shift > 0 && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[v >> shift & 15];
	*to = 0;
	return to;
}

#endif
