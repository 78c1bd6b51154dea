/* State of one CPU: where its data are, and the words that exceptions write first. */
#include <linux/guest.h>
#include <asm/irq.h>

/* Of undefined instructions, aborts, interrupts and fast interrupts, three words of each. */
__section(".percpu.first") unsigned long exception_words[4][4];
DEFINE_PER_CPU(unsigned int, cpu_number);
DEFINE_PER_CPU(unsigned long, timer_period);

_Static_assert(offsetof(struct thread_info, cpu) == TI_CPU, "thread_info.h");

#define SCTLR_V (1U << 13)	/* the vectors are at 0xffff0000 */

unsigned long cpu_bases[MAX_CPUS];

void set_mode_stacks(unsigned long (*words)[4]);

void traps_init(void)
{
}

static void use_high_vectors(void)
{
	unsigned long control;

	asm volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
	asm volatile("mcr p15, 0, %0, c1, c0, 0\n\tisb" :: "r"(control | SCTLR_V) : "memory");
}

void cpu_init(unsigned long cpu, unsigned long base)
{
	cpu_bases[cpu] = base;
	percpu_write(cpu_number, cpu);
	set_mode_stacks(*per_cpu_ptr_of(exception_words, base));
	use_high_vectors();
}
