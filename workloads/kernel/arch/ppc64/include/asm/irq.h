/* The decrementer, which is the timer, and the interrupts that the hypervisor delivers. What core/irq.c needs. */
#ifndef _ASM_IRQ_H
#define _ASM_IRQ_H

#include <linux/types.h>
#include "hcall.h"
#include "percpu.h"
#include "processor.h"

/* What a decrementer counts down from when it has nothing to do: it takes longest. */
#define DECREMENTER_MAX 0x7fffffffUL
/* Priorities: the controller lets through what is more urgent than the CPU's own, which is the smaller number. */
#define PRIORITY_ALL 0xffUL

/* Clocks between two ticks, 0 for no ticks. */
DECLARE_PER_CPU(unsigned long, timer_period);

static __always_inline void clear_timer(void)
{
	percpu_write(timer_period, 0);
	mtspr(SPRN_DEC, DECREMENTER_MAX);
}

static __always_inline void enable_controller(void)
{
	clear_timer();
	hypervisor_call(H_CPPR, PRIORITY_ALL, 0);
}

/* The interrupt comes when the sign changes, one clock behind zero. */
static __always_inline void set_timer(unsigned long count, unsigned long periodic)
{
	percpu_write(timer_period, periodic ? count : 0);
	mtspr(SPRN_DEC, count - 1);
}

/*
 * The decrementer goes on below zero: the next tick is a period behind the last, however late this is. Ticks that
 * are over by now are lost: only a change of its sign interrupts.
 */
static __always_inline void acknowledge_timer(void)
{
	unsigned long period = percpu_read(timer_period);
	long next = period + (long)(s32)mfspr(SPRN_DEC);

	if (period)
		mtspr(SPRN_DEC, next > 0 ? next : 0);
	else
		mtspr(SPRN_DEC, DECREMENTER_MAX);
}

#endif
