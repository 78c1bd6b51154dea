/* The bit EE of MSR: see linux/irqflags.h. mtmsrd with L=1 changes no other bit but RI, which stays set. */
#ifndef _ASM_IRQFLAGS_H
#define _ASM_IRQFLAGS_H

#include <linux/compiler.h>
#include "hcall.h"
#include "ptrace.h"

static __always_inline unsigned long read_msr(void)
{
	unsigned long msr;

	asm volatile("mfmsr %0" : "=r"(msr) :: "memory");
	return msr;
}

static __always_inline void write_msr_ee(unsigned long msr)
{
	asm volatile("mtmsrd %0, 1" :: "r"(msr) : "memory");
}

static __always_inline void local_irq_disable(void)
{
	write_msr_ee(read_msr() & ~MSR_EE);
}

static __always_inline void local_irq_enable(void)
{
	write_msr_ee(read_msr() | MSR_EE);
}

static __always_inline unsigned long local_irq_save(void)
{
	unsigned long msr = read_msr();

	write_msr_ee(msr & ~MSR_EE);
	return msr;
}

static __always_inline void local_irq_restore(unsigned long flags)
{
	write_msr_ee(flags);
}

static __always_inline int irqs_disabled_flags(unsigned long flags)
{
	return !(flags & MSR_EE);
}

static __always_inline int irqs_disabled(void)
{
	return irqs_disabled_flags(read_msr());
}

/* A lower priority of the thread and the usual one again: these forms of or are hints. */
static __always_inline void cpu_relax(void)
{
	asm volatile("or 1,1,1\n\tor 2,2,2" ::: "memory");
}

/* The hypervisor enables interrupts and gives the CPU back when there is one. */
static __always_inline void safe_halt(void)
{
	hypervisor_call(H_CEDE, 0, 0);
}

#endif
