/* The local APIC: its timer and the interrupts that it delivers. What core/irq.c needs of it. */
#ifndef _ASM_IRQ_H
#define _ASM_IRQ_H

#include "processor.h"

/* All priorities are let through, and the timer is silent. */
static __always_inline void enable_controller(void)
{
	apic_write(APIC_TPR, 0);
	apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | LOCAL_TIMER_VECTOR);
	apic_write(APIC_SVR, APIC_SVR_ENABLE | SPURIOUS_VECTOR);
}

static __always_inline void set_timer(unsigned long count, unsigned long periodic)
{
	apic_write(APIC_TIMER_DIVIDE, APIC_DIVIDE_BY_1);
	apic_write(APIC_LVT_TIMER, LOCAL_TIMER_VECTOR | (periodic ? APIC_LVT_PERIODIC : 0));
	apic_write(APIC_TIMER_INITIAL, count);
}

static __always_inline void clear_timer(void)
{
	apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | LOCAL_TIMER_VECTOR);
	apic_write(APIC_TIMER_INITIAL, 0);
}

/* The next interrupt may be delivered once this one's handler lets it. */
static __always_inline void acknowledge_timer(void)
{
	apic_write(APIC_EOI, 0);
}

#endif
