/*
 * Interrupts from one CPU to another, and starting CPUs. The controller has sixteen interrupts for software, of
 * which two are used. A CPU's number is that of its interface of the controller.
 */
#include <linux/guest.h>
#include <asm/irq.h>
#include <asm/ptrace.h>

#define SGI_TARGETS 16	/* where the bits of the CPUs begin that an interrupt is for */

/* What this CPU stored is seen by those that are interrupted: a bit for each. */
static void interrupt_cpus(u32 cpus, u32 sgi)
{
	asm volatile("dsb" ::: "memory");
	write_device(GICD_SGIR, cpus << SGI_TARGETS | sgi);
}

/* It begins where the first CPU began, and finds the interrupt pending that has woken it. */
__used void smp_boot_cpu(unsigned long cpu)
{
	extern char _start[];

	write_device(SYS_FLAGSCLR, ~0U);
	write_device(SYS_FLAGSSET, (unsigned long)_start);
	interrupt_cpus(1U << cpu, SGI_RESCHEDULE);
}

/* Interrupts the CPUs that the scheduler wants to reschedule. */
__used void smp_send_kicks(void)
{
	unsigned long flags = local_irq_save();
	long cpu;

	while ((cpu = sched_kick()) >= 0)
		interrupt_cpus(1U << cpu, SGI_RESCHEDULE);
	local_irq_restore(flags);
}

/* Interrupts are on, and the caller stays on its CPU. */
void smp_send_call_function(void)
{
	u32 online = (1U << cpus_online) - 1;

	interrupt_cpus(online & ~(1U << smp_processor_id()), SGI_CALL);
}

/* Whoever wants this CPU to reschedule has set TIF_NEED_RESCHED, which the ways out check. */
static __irq void answer_cpu(u32 sgi)
{
	if (sgi != SGI_CALL)
		return;
	atomic_observe();	/* an interrupt that is found here, and not taken, synchronizes nothing */
	irq_enter();
	smp_answer_call();
	irq_exit();
}

/*
 * Interrupts are served until the controller has no more. One of another CPU is over before it is answered: the
 * next one may come. The timer's line is down only when the timer has been set anew.
 */
__irq __used void interrupt_arrived(struct pt_regs *regs)
{
	u32 taken = read_device(GICC_IAR);

	if (IRQ_NUMBER(taken) == SPURIOUS_IRQ)
		ignore_interrupt(regs);
	for (; IRQ_NUMBER(taken) != SPURIOUS_IRQ; taken = read_device(GICC_IAR)) {
		if (IRQ_NUMBER(taken) == TIMER_IRQ) {
			timer_interrupt(regs);
			write_device(GICC_EOIR, taken);
		} else {
			write_device(GICC_EOIR, taken);
			answer_cpu(IRQ_NUMBER(taken));
		}
	}
}
