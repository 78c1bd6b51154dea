/* What makes changed text visible, and memory accesses ordered. */
#ifndef _ASM_PROCESSOR_H
#define _ASM_PROCESSOR_H

#ifndef __ASSEMBLER__

#include <linux/compiler.h>

/* Drops what was prefetched. */
static __always_inline void sync_core(void)
{
	asm volatile("isb" ::: "memory");
}

/* Accesses to memory stay on their side, as other CPUs see them. */
static __always_inline void order_memory(void)
{
	asm volatile("dmb ish" ::: "memory");
}

#endif /* __ASSEMBLER__ */
#endif
