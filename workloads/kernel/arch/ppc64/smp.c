/*
 * Interrupts from one CPU to another, and starting CPUs. There is one kind of interrupt between CPUs: what
 * it is about is in a word of the CPU that it is for. A CPU's number is its server number.
 */
#include <linux/guest.h>
#include <asm/hcall.h>
#include <asm/ptrace.h>

/* What another CPU is asked to do: bits of its asked. */
#define ASK_RESCHEDULE 1UL
#define ASK_CALL 2UL

#define IPI_PRIORITY 4UL
#define NO_IPI 0xffUL		/* as a priority: takes the request back */
#define IPI_SOURCE 2UL		/* of the controller's numbers of interrupts, 0 is none */
#define XIRR_SOURCE 0xffffffUL

#define MAX_CPUS 256
unsigned long cpu_bases[MAX_CPUS];
static DEFINE_PER_CPU(unsigned long, asked);

static void ask(unsigned long cpu, unsigned long what)
{
	atomic_long_or(what, per_cpu_ptr_of(asked, cpu_bases[cpu]));
	atomic_fence();
	hypervisor_call(H_IPI, cpu, IPI_PRIORITY);
}

/* What this CPU was asked for since it looked last. */
static __irq unsigned long take_asked(void)
{
	unsigned long what;

	asm volatile("0:\tldarx %0, 0, %1\n\t"
		     "stdcx. %2, 0, %1\n\t"
		     "bne- 0b\n\t"
		     "isync"
		     : "=&r"(what) : "r"(this_cpu_ptr(asked)), "r"(0UL) : "cr0", "memory");
	return what;
}

#define RTAS_START_CPU 1U	/* the number that the firmware of this board has for the service */
#define OFFSET_OF_REAL 0xc000000000000000UL

/* The argument block of the run-time services: big-endian words of 32 bits. */
struct rtas_block {
	u32 token, inputs, outputs;
	u32 words[4];
};

/* It begins where the first CPU began. */
__used void smp_boot_cpu(unsigned long cpu)
{
	static struct rtas_block block;

	block = (struct rtas_block){ RTAS_START_CPU, 3, 1, { cpu, 0, cpu, 0 } };
	hypervisor_call(H_RTAS, (unsigned long)&block - OFFSET_OF_REAL, 0);
}

/* Interrupts the CPUs that the scheduler wants to reschedule. */
__used void smp_send_kicks(void)
{
	unsigned long flags = local_irq_save();
	long cpu;

	while ((cpu = sched_kick()) >= 0)
		ask(cpu, ASK_RESCHEDULE);
	local_irq_restore(flags);
}

/* Interrupts are on, and the caller stays on its CPU. */
void smp_send_call_function(void)
{
	unsigned long self = smp_processor_id();

	for (unsigned long cpu = 0; cpu < cpus_online; cpu++)
		if (cpu != self)
			ask(cpu, ASK_CALL);
}

/*
 * An external interrupt. Whoever wants this CPU to reschedule has set TIF_NEED_RESCHED, which the way out
 * checks. The request goes before the words are taken: what is asked for later interrupts again.
 */
__irq __used void external_arrived(struct pt_regs *regs)
{
	unsigned long taken = hypervisor_call(H_XIRR, 0, 0).value;
	unsigned long what;

	if ((taken & XIRR_SOURCE) != IPI_SOURCE) {
		ignore_interrupt(regs);
		return;
	}
	hypervisor_call(H_IPI, smp_processor_id(), NO_IPI);
	what = take_asked();
	hypervisor_call(H_EOI, taken, 0);
	if (!(what & ASK_CALL))
		return;
	irq_enter();
	smp_answer_call();
	irq_exit();
}
