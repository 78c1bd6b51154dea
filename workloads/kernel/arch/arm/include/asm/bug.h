/* A broken invariant of the kernel: an instruction that is undefined for good (ARM ARM, A8.8.247), which no hook
   takes. It ends in a panic. */
#ifndef _ASM_BUG_H
#define _ASM_BUG_H

#define BUG_INSTRUCTION 0xe7f000f0	/* udf #0 */

#define BUG() do { asm volatile(".inst 0xe7f000f0"); __builtin_unreachable(); } while (0)

#endif
