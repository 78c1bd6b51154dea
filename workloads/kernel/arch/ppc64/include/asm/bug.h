/* A broken invariant of the kernel: an unconditional trap, which no listener takes, ends in a panic. */
#ifndef _ASM_BUG_H
#define _ASM_BUG_H

#define BUG() do { asm volatile("twi 31,0,0"); __builtin_unreachable(); } while (0)

#endif
