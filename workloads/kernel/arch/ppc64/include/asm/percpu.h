/*
 * Per-CPU data: the section .percpu is linked at PERCPU_LINKED and every CPU has a copy of it. Register 13
 * has the copy's address while the kernel runs, and SPRG3 always. PERCPU_LINKED is a multiple of 64 KiB and
 * the variables of percpu_read lie in the first 32 KiB, so that one load or store with a displacement
 * reaches them. A pointer is this_cpu_off, what lies between the copy and the section, plus the linked
 * address.
 */
#ifndef _ASM_PERCPU_H
#define _ASM_PERCPU_H

#include <linux/era.h>

#define PERCPU_LINKED 0x10000

#ifndef __ASSEMBLER__

#include <linux/compiler.h>

#define DEFINE_PER_CPU(type, name) __section(".percpu") __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name) ____cacheline_aligned
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name

DECLARE_PER_CPU(unsigned long, this_cpu_off);

#define per_cpu_ptr_of(var, base) \
	((__typeof__(var) *)((unsigned long)(base) + (unsigned long)&(var)))

/* Of 4 or 8 bytes; others do not compile. */
#define percpu_read(var) ({								\
	__typeof__(var) v__;								\
	if (sizeof(var) == 8)								\
		asm volatile("ld %0, %1@l(13)" : "=r"(v__) : "i"(&(var)));		\
	else										\
		asm volatile("lwz %0, %1@l(13)" : "=r"(v__) : "i"(&(var)));		\
	v__; })

#define percpu_write(var, val) do {							\
	__typeof__(var) v__ = (val);							\
	if (sizeof(var) == 8)								\
		asm volatile("std %0, %1@l(13)" : : "r"(v__), "i"(&(var)) : "memory");	\
	else										\
		asm volatile("stw %0, %1@l(13)" : : "r"(v__), "i"(&(var)) : "memory");	\
} while (0)

#define percpu_add(var, val) percpu_write(var, percpu_read(var) + (val))

#define this_cpu_ptr(var) per_cpu_ptr_of(var, percpu_read(this_cpu_off))
#define __get_cpu_var(var) (*this_cpu_ptr(var))

#endif /* __ASSEMBLER__ */
#endif
