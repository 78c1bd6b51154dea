/* A broken invariant of the kernel: the #UD handler turns it into a panic with this address. */
#ifndef _ASM_BUG_H
#define _ASM_BUG_H

#define BUG() do { asm volatile("ud2"); __builtin_unreachable(); } while (0)

#endif
