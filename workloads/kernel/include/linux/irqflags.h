/*
 * Whether the CPU takes interrupts, and what it does while it waits. The architecture has:
 *	local_irq_disable(), local_irq_enable()
 *	flags = local_irq_save(), local_irq_restore(flags)
 *	irqs_disabled_flags(flags), irqs_disabled()
 *	safe_halt()	enables interrupts and halts until one comes; none is lost in between
 *	cpu_relax()	in a loop that waits for another CPU
 */
#ifndef _LINUX_IRQFLAGS_H
#define _LINUX_IRQFLAGS_H

#include <asm/irqflags.h>

#endif
