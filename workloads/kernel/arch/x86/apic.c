/* Local APIC: its timer and the interrupts it delivers. */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <asm/processor.h>
#include <asm/ptrace.h>

unsigned long (*tick_hook)(unsigned long a, unsigned long b);

void apic_init(void)
{
	apic_write(APIC_TPR, 0);
	apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | LOCAL_TIMER_VECTOR);
	apic_write(APIC_SVR, APIC_SVR_ENABLE | SPURIOUS_VECTOR);
}

/* Interrupts after count bus clocks, once or again and again. */
__used void apic_timer_start(unsigned long count, unsigned long periodic)
{
	apic_write(APIC_TIMER_DIVIDE, 0xb);
	apic_write(APIC_LVT_TIMER, LOCAL_TIMER_VECTOR | (periodic ? APIC_LVT_PERIODIC : 0));
	apic_write(APIC_TIMER_INITIAL, count);
}

/* Has this CPU interrupted when the next sleeper is due, unless another one will be. */
__used void sched_timer_arm(void)
{
	unsigned long flags = local_irq_save(), count = sched_timer_count();

	if (count)
		apic_timer_start(count, 0);
	local_irq_restore(flags);
}

__used void apic_timer_stop(void)
{
	apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED | LOCAL_TIMER_VECTOR);
	apic_write(APIC_TIMER_INITIAL, 0);
}

__irq void irq_enter(void)
{
	current_thread_info()->preempt_count += HARDIRQ_OFFSET;
}

/* The end of an interrupt of the idle loop is a quiescent state. */
__irq void irq_exit(void)
{
	current_thread_info()->preempt_count -= HARDIRQ_OFFSET;
	if (unlikely(percpu_read(rcu_wanted)) && percpu_read(cpu_in_idle) && !in_interrupt())
		rcu_quiescent();
}

__irq __used void smp_apic_timer_interrupt(struct pt_regs *regs)
{
	apic_write(APIC_EOI, 0);
	irq_enter();
	if (tick_hook)
		tick_hook(regs->ip, percpu_read(cpu_number));
	sched_tick(user_mode(regs));
	irq_exit();
}

/* Needs no end-of-interrupt. */
__irq __used void smp_spurious_interrupt(struct pt_regs *regs __unused)
{
}
