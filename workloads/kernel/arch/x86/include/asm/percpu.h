/*
 * Per-CPU data: the section .percpu is linked at address 0 and every CPU has a copy of it whose
 * address is in the base of a segment register and in its own variable this_cpu_off. A plain read or
 * write is one instruction with a segment override; a pointer is this_cpu_off plus the linked address.
 * In a kernel for one processor the variables are used where they are linked.
 */
#ifndef _ASM_PERCPU_H
#define _ASM_PERCPU_H

#include <linux/era.h>

#ifdef __x86_64__
#define PERCPU_SEGMENT "gs"
#else
#define PERCPU_SEGMENT "fs"
#endif

#ifndef __ASSEMBLER__

#include <linux/compiler.h>

#define DEFINE_PER_CPU(type, name) __section(".percpu") __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name) ____cacheline_aligned
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name

DECLARE_PER_CPU(unsigned long, this_cpu_off);

#define per_cpu_ptr_of(var, base) \
	((__typeof__(var) *)((unsigned long)(base) + (unsigned long)&(var)))

#if ERA_UNIPROCESSOR
#define percpu_read(var) (var)
#define percpu_write(var, val) ((var) = (val))
#define percpu_add(var, val) ((var) += (val))
#define this_cpu_ptr(var) (&(var))
#else
#define percpu_read(var) ({					\
	__typeof__(var) v__;					\
	asm volatile("mov %%" PERCPU_SEGMENT ":%P1, %0" : "=r"(v__) : "m"(var));	\
	v__; })

#define percpu_write(var, val) do {				\
	__typeof__(var) v__ = (val);				\
	asm volatile("mov%z0 %1, %%" PERCPU_SEGMENT ":%P0" : "=m"(var) : "re"(v__));	\
} while (0)

#define percpu_add(var, val) \
	asm volatile("add%z0 %1, %%" PERCPU_SEGMENT ":%P0" : "+m"(var) : "re"((__typeof__(var))(val)))

#define this_cpu_ptr(var) per_cpu_ptr_of(var, percpu_read(this_cpu_off))
#endif
#define __get_cpu_var(var) (*this_cpu_ptr(var))

#endif /* __ASSEMBLER__ */
#endif
