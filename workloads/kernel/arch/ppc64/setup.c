/* State of one CPU: per-CPU data that the entry code reads. The vectors are in the image as linked. */
#include <linux/guest.h>
#include <asm/ptrace.h>

#define FRAME_MARK 0x7265677372656773UL	/* "regsregs": a frame of an exception lies above it */

__section(".percpu.first") unsigned long exception_scratch[5];
__section(".percpu.first") unsigned long kernel_toc;
__section(".percpu.first") unsigned long frame_mark = FRAME_MARK;
__section(".percpu.first") unsigned long this_cpu_off;
__section(".percpu.first") unsigned int lock_token;
DEFINE_PER_CPU(unsigned int, cpu_number);
DEFINE_PER_CPU(unsigned long, timer_period);

#define LOCKED 0x80000000U

extern unsigned long cpu_bases[];

void traps_init(void)
{
}

void cpu_init(unsigned long cpu, unsigned long base)
{
	percpu_write(this_cpu_off, base);
	percpu_write(cpu_number, cpu);
	percpu_write(lock_token, LOCKED | cpu);
	cpu_bases[cpu] = base;
}
