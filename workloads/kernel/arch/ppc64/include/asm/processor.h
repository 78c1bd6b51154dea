/* Special-purpose registers, and what makes changed text visible. */
#ifndef _ASM_PROCESSOR_H
#define _ASM_PROCESSOR_H

#define SPRN_DSISR 18
#define SPRN_DAR 19
#define SPRN_DEC 22
#define SPRN_SRR0 26
#define SPRN_SRR1 27
#define SPRN_CTRLF 136		/* reads what CTRLT writes: the run latch */
#define SPRN_CTRLT 152
#define SPRN_SPRG1 273		/* r13 of what an exception interrupted */
#define SPRN_SPRG3 275		/* this CPU's copy of the per-CPU data */

#ifndef __ASSEMBLER__

#include <linux/compiler.h>

#define mfspr(number) ({							\
	unsigned long value__;							\
										\
	asm volatile("mfspr %0, %1" : "=r"(value__) : "i"(number));		\
	value__; })

#define mtspr(number, value) asm volatile("mtspr %0, %1" :: "i"(number), "r"(value) : "memory")

/* Waits for everything before it and drops what was prefetched. */
static __always_inline void sync_core(void)
{
	asm volatile("isync" ::: "memory");
}

#endif /* __ASSEMBLER__ */
#endif
