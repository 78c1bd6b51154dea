/* Interrupts: the timer, and what surrounds whatever an interrupt does. */
#include <linux/guest.h>
#include <asm/irq.h>
#include <asm/ptrace.h>

unsigned long (*tick_hook)(unsigned long a, unsigned long b);

void interrupts_init(void)
{
	enable_controller();
}

__used void timer_start(unsigned long count, unsigned long periodic)
{
	set_timer(count, periodic);
}

/* Has this CPU interrupted when the next sleeper is due, unless another one will be. */
__used void sched_timer_arm(void)
{
	unsigned long flags = local_irq_save(), count = sched_timer_count();

	if (count)
		timer_start(count, 0);
	local_irq_restore(flags);
}

__used void timer_stop(void)
{
	clear_timer();
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

__irq __used void timer_interrupt(struct pt_regs *regs)
{
	acknowledge_timer();
	irq_enter();
	if (tick_hook)
		tick_hook(instruction_pointer(regs), smp_processor_id());
	sched_tick(user_mode(regs));
	irq_exit();
}

/* A spurious interrupt: the controller delivers it in place of one that was withdrawn. */
__irq __used void ignore_interrupt(struct pt_regs *regs __unused)
{
}
