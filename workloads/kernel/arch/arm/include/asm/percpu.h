/*
 * Per-CPU data: the section .percpu is linked at 0 and every CPU has a copy of it. A pointer is the address of the
 * copy, which the thread ID register for the kernel holds, plus the linked address. Kernels of 2010 find the copy
 * by the number of the CPU instead, which lies on the running task's stack.
 */
#ifndef _ASM_PERCPU_H
#define _ASM_PERCPU_H

#include <linux/era.h>

#ifndef __ASSEMBLER__

#include <linux/compiler.h>
#include "thread_info.h"

#define DEFINE_PER_CPU(type, name) __section(".percpu") __typeof__(type) name
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name) ____cacheline_aligned
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name

#define MAX_CPUS 8
/* Where the copies are, by the numbers of the CPUs. */
extern unsigned long cpu_bases[MAX_CPUS];

static __always_inline unsigned long current_stack_pointer(void)
{
	unsigned long sp;

	asm("mov %0, sp" : "=r"(sp));
	return sp;
}

/* The bottom of the stack that is in use. All code runs on the stack of a task, which lies at a multiple of its
   size. */
static __always_inline unsigned long current_stack(void)
{
	return current_stack_pointer() & -(unsigned long)THREAD_SIZE;
}

static __always_inline unsigned long this_cpu_base(void)
{
#if ERA_PERCPU_REGISTER
	unsigned long base;

	asm volatile("mrc p15, 0, %0, c13, c0, 4" : "=r"(base));
	return base;
#else
	return cpu_bases[*(unsigned int *)(current_stack() + TI_CPU)];
#endif
}

#define per_cpu_ptr_of(var, base) \
	((__typeof__(var) *)((unsigned long)(base) + (unsigned long)&(var)))

#define this_cpu_ptr(var) per_cpu_ptr_of(var, this_cpu_base())
#define __get_cpu_var(var) (*this_cpu_ptr(var))

#define percpu_read(var) READ_VOLATILE(*this_cpu_ptr(var))
#define percpu_write(var, val) WRITE_VOLATILE(*this_cpu_ptr(var), val)
#define percpu_add(var, val) percpu_write(var, percpu_read(var) + (val))

#endif /* __ASSEMBLER__ */
#endif
