/* The bit I of the program status register: see linux/irqflags.h. */
#ifndef _ASM_IRQFLAGS_H
#define _ASM_IRQFLAGS_H

#include <linux/compiler.h>
#include "ptrace.h"

static __always_inline unsigned long read_cpsr(void)
{
	unsigned long psr;

	asm volatile("mrs %0, cpsr" : "=r"(psr) :: "memory");
	return psr;
}

static __always_inline void local_irq_disable(void)
{
	asm volatile("cpsid i" ::: "memory");
}

static __always_inline void local_irq_enable(void)
{
	asm volatile("cpsie i" ::: "memory");
}

static __always_inline unsigned long local_irq_save(void)
{
	unsigned long psr = read_cpsr();

	local_irq_disable();
	return psr;
}

/* The control bits alone: flags are the compiler's. */
static __always_inline void local_irq_restore(unsigned long flags)
{
	asm volatile("msr cpsr_c, %0" :: "r"(flags) : "memory");
}

static __always_inline int irqs_disabled_flags(unsigned long flags)
{
	return !!(flags & PSR_I_BIT);
}

static __always_inline int irqs_disabled(void)
{
	return irqs_disabled_flags(read_cpsr());
}

static __always_inline void cpu_relax(void)
{
	asm volatile("yield" ::: "memory");
}

/* An interrupt that is pending ends the wait although it is not taken before the wait is over. */
static __always_inline void safe_halt(void)
{
	asm volatile("dsb\n\twfi\n\tcpsie i" ::: "memory");
}

#endif
