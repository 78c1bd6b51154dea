/* Interrupts from one CPU to another, and starting CPUs by them. A CPU's number is its APIC's. */
#include <linux/guest.h>
#include <asm/processor.h>

/* Up to this many CPUs can be reached by one command, as with the flat model of logical addresses. */
#define FLAT_CPUS 8

static void wait_icr_idle(void)
{
	while (apic_read(APIC_ICR) & APIC_ICR_BUSY)
		cpu_relax();
}

/*
 * The destination that means all CPUs, so that it cannot name the last of 256. What is meant for that CPU
 * goes to all others, too. It does them no harm: they check whether to reschedule, and ignore a start-up
 * interrupt.
 */
#define BROADCAST 255

/* The two halves of the command must not be parted by an interrupt that sends one too. */
static void send_to(unsigned long cpu, u32 command)
{
	unsigned long flags = local_irq_save();

	wait_icr_idle();
	if (cpu == BROADCAST)
		command |= APIC_DEST_OTHERS;
	apic_write(APIC_ICR2, cpu << 24);
	apic_write(APIC_ICR, command);
	local_irq_restore(flags);
}

/* Without the pauses of the manual's protocol: here INIT and start-up take effect when they arrive. */
__used void smp_boot_cpu(unsigned long cpu)
{
	if (cpu != BROADCAST)
		send_to(cpu, APIC_DM_INIT | APIC_INT_ASSERT | APIC_INT_LEVELTRIG);
	send_to(cpu, APIC_DM_STARTUP);
	send_to(cpu, APIC_DM_STARTUP);
}

/* Interrupts the CPUs that the scheduler wants to reschedule. */
__used void smp_send_kicks(void)
{
	unsigned long flags = local_irq_save();
	long cpu;

	while ((cpu = sched_kick()) >= 0)
		send_to(cpu, RESCHEDULE_VECTOR);
	local_irq_restore(flags);
}

/* Interrupts are on, and the caller stays on its CPU. */
void smp_send_call_function(void)
{
	unsigned long self = smp_processor_id();

	if (cpus_online <= FLAT_CPUS || cpus_online > BROADCAST) {
		wait_icr_idle();
		apic_write(APIC_ICR, APIC_DEST_OTHERS | CALL_FUNCTION_VECTOR);
		return;
	}
	for (unsigned long cpu = 0; cpu < cpus_online; cpu++)
		if (cpu != self)
			send_to(cpu, CALL_FUNCTION_VECTOR);
}

/* Nothing is left to be done: the sender has set TIF_NEED_RESCHED, which the way out checks. */
__irq __used void smp_reschedule_interrupt(struct pt_regs *regs __unused)
{
	apic_write(APIC_EOI, 0);
}

__irq __used void smp_call_function_interrupt(struct pt_regs *regs __unused)
{
	apic_write(APIC_EOI, 0);
	irq_enter();
	smp_answer_call();
	irq_exit();
}
