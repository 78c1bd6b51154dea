/*
 * Per-CPU data: the section .percpu is linked at address 0 and every CPU has a copy of it whose
 * address is in its GS base and in its own variable this_cpu_off. A plain read or write is one
 * instruction with a GS override; a pointer is this_cpu_off plus the linked address.
 */
#ifndef _ASM_PERCPU_H
#define _ASM_PERCPU_H

#ifndef __ASSEMBLER__

#include <linux/compiler.h>

#define DEFINE_PER_CPU(type, name) __section(".percpu") __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name) ____cacheline_aligned
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name

DECLARE_PER_CPU(unsigned long, this_cpu_off);

#define percpu_read(var) ({					\
	__typeof__(var) v__;					\
	asm volatile("mov %%gs:%P1, %0" : "=r"(v__) : "m"(var));	\
	v__; })

#define percpu_write(var, val) do {				\
	__typeof__(var) v__ = (val);				\
	asm volatile("mov%z0 %1, %%gs:%P0" : "=m"(var) : "re"(v__));	\
} while (0)

#define percpu_add(var, val) \
	asm volatile("add%z0 %1, %%gs:%P0" : "+m"(var) : "re"((__typeof__(var))(val)))

#define per_cpu_ptr_of(var, base) \
	((__typeof__(var) *)((unsigned long)(base) + (unsigned long)&(var)))

#define this_cpu_ptr(var) per_cpu_ptr_of(var, percpu_read(this_cpu_off))
#define __get_cpu_var(var) (*this_cpu_ptr(var))

#endif /* __ASSEMBLER__ */
#endif
