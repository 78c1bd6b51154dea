/*
 * Words that several CPUs change at the same time. The architecture has:
 *	atomic_inc, atomic_dec			of an unsigned int
 *	atomic_dec_and_test			of an int: whether it has become 0
 *	atomic_long_inc, _dec, _add, _or	of an unsigned long; the operand comes first
 *	atomic_long_fetch_add			the same: what was there before
 *	atomic_clear_bit			of flags of which another CPU may set others meanwhile
 *	atomic_fence				all see the stores before it before the loads after it are done
 *	atomic_publish				all see the stores before it before those behind it
 *	atomic_observe				the loads behind it find what those before it have shown
 */
#ifndef _LINUX_ATOMIC_H
#define _LINUX_ATOMIC_H

#include <asm/atomic.h>

#endif
