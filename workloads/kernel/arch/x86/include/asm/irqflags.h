/* The interrupt flag of the CPU: see linux/irqflags.h. */
#ifndef _ASM_IRQFLAGS_H
#define _ASM_IRQFLAGS_H

#include <linux/compiler.h>
#include "ptrace.h"

static __always_inline void local_irq_disable(void)
{
	asm volatile("cli" ::: "memory");
}

static __always_inline void local_irq_enable(void)
{
	asm volatile("sti" ::: "memory");
}

static __always_inline unsigned long local_irq_save(void)
{
	unsigned long flags;

	asm volatile("pushf\n\tpop %0\n\tcli" : "=rm"(flags) :: "memory");
	return flags;
}

static __always_inline void local_irq_restore(unsigned long flags)
{
	asm volatile("push %0\n\tpopf" :: "g"(flags) : "memory", "cc");
}

static __always_inline int irqs_disabled_flags(unsigned long flags)
{
	return !(flags & X86_EFLAGS_IF);
}

static __always_inline int irqs_disabled(void)
{
	unsigned long flags;

	asm volatile("pushf\n\tpop %0" : "=rm"(flags) :: "memory");
	return irqs_disabled_flags(flags);
}

static __always_inline void cpu_relax(void)
{
	asm volatile("pause" ::: "memory");
}

/* The instruction after sti is not interrupted. */
static __always_inline void safe_halt(void)
{
	asm volatile("sti\n\thlt" ::: "memory");
}

#endif
