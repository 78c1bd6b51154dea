/*
 * The timer of the CPU and the interrupt controller: what core/irq.c needs. The controller is a GIC (ARM Generic
 * Interrupt Controller, architecture version 2.0, IHI 0048B): a distributor, of which each CPU has its own first
 * registers, and one interface for each CPU. The timer is the physical one of the generic timer (ARM ARM, B8.1.5).
 */
#ifndef _ASM_IRQ_H
#define _ASM_IRQ_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "percpu.h"

/* Where the board maps its devices. */
#define DISTRIBUTOR 0xf8000000UL
#define CPU_INTERFACE 0xf8001000UL
#define CONSOLE 0xf8002000UL
#define SYSTEM_REGISTERS 0xf8003000UL

/* IHI 0048B, tables 4-1 and 4-2. */
#define GICD_CTLR (DISTRIBUTOR + 0x000)
#define GICD_ISENABLER0 (DISTRIBUTOR + 0x100)
#define GICD_SGIR (DISTRIBUTOR + 0xf00)
#define GICC_CTLR (CPU_INTERFACE + 0x00)
#define GICC_PMR (CPU_INTERFACE + 0x04)
#define GICC_IAR (CPU_INTERFACE + 0x0c)
#define GICC_EOIR (CPU_INTERFACE + 0x10)

/* Motherboard Express V2M-P1, DUI 0447: where further CPUs are to begin, which wait for an interrupt while it is
   zero. Ones set bits of it, and clear them. */
#define SYS_FLAGSSET (SYSTEM_REGISTERS + 0x30)
#define SYS_FLAGSCLR (SYSTEM_REGISTERS + 0x34)

#define GIC_ENABLE 1U
#define LOWEST_PRIORITY 0xf0U	/* all interrupts that are more urgent come through */
#define IRQ_NUMBER(ack) ((ack) & 0x3ffU)

/* Numbers of interrupts. The first are those from other CPUs. */
#define SGI_RESCHEDULE 0U
#define SGI_CALL 1U
#define TIMER_IRQ 30U
#define SPURIOUS_IRQ 1023U

/* CNTP_CTL */
#define TIMER_ON 1U
#define TIMER_OFF 0U

static __always_inline u32 read_device(unsigned long at)
{
	return *(volatile u32 *)at;
}

static __always_inline void write_device(unsigned long at, u32 value)
{
	*(volatile u32 *)at = value;
}

/* Counts of the timer between two ticks, 0 for no ticks. */
DECLARE_PER_CPU(unsigned long, timer_period);

static __always_inline void set_timer_control(u32 control)
{
	asm volatile("mcr p15, 0, %0, c14, c2, 1\n\tisb" :: "r"(control) : "memory");
}

static __always_inline void set_timer_value(long count)
{
	asm volatile("mcr p15, 0, %0, c14, c2, 0" :: "r"(count) : "memory");
}

/* What is left, negative when the time is over. */
static __always_inline long timer_value(void)
{
	long left;

	asm volatile("mrc p15, 0, %0, c14, c2, 0" : "=r"(left) :: "memory");
	return left;
}

static __always_inline void clear_timer(void)
{
	percpu_write(timer_period, 0);
	set_timer_control(TIMER_OFF);
}

static __always_inline void enable_controller(void)
{
	clear_timer();
	write_device(GICD_CTLR, GIC_ENABLE);
	write_device(GICD_ISENABLER0, 1U << TIMER_IRQ | 1U << SGI_RESCHEDULE | 1U << SGI_CALL);
	write_device(GICC_PMR, LOWEST_PRIORITY);
	write_device(GICC_CTLR, GIC_ENABLE);
}

static __always_inline void set_timer(unsigned long count, unsigned long periodic)
{
	percpu_write(timer_period, periodic ? count : 0);
	set_timer_value(count);
	set_timer_control(TIMER_ON);
}

/*
 * The timer goes on below zero, and interrupts as long as it is there: the next tick is a period behind the last,
 * however late this is. Ticks that are over by now are lost but for one.
 */
static __always_inline void acknowledge_timer(void)
{
	unsigned long period = percpu_read(timer_period);
	long next = period + timer_value();

	if (period)
		set_timer_value(next > 0 ? next : 0);
	else
		set_timer_control(TIMER_OFF);
}

#endif
