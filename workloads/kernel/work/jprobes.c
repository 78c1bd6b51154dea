/*
 * Functions to attach to jprobes: they are entered with the arguments of the probed function and
 * end in jprobe_return(). What they do to their arguments must not be seen by the probed function.
 */
#include <linux/kprobes.h>
#include <linux/workload.h>

#if !ERA_COPY_TRAPS
DECLARE_PER_CPU(unsigned long, handler_hits);
DECLARE_PER_CPU(unsigned long, handler_last_value);

__handler unsigned long jprobe_empty(unsigned long a __unused, unsigned long b __unused)
{
	jprobe_return();
}

__handler unsigned long jprobe_count(unsigned long a __unused, unsigned long b __unused)
{
	percpu_add(handler_hits, 1);
	jprobe_return();
}

/* Counts, notes the sum of nine arguments, most or some in registers, and spoils all of them. */
__handler unsigned long jprobe_arguments(volatile unsigned long a, volatile unsigned long b,
					 volatile unsigned long c, volatile unsigned long d,
					 volatile unsigned long e, volatile unsigned long f,
					 volatile unsigned long g, volatile unsigned long h,
					 volatile unsigned long i)
{
	percpu_add(handler_hits, 1);
	percpu_write(handler_last_value, a + b + c + d + e + f + g + h + i);
	a = b = c = d = e = f = g = h = i = ~0UL;
	jprobe_return();
}

/* Leaves by the breakpoint of jprobe_return, but with another stack pointer than it came with. */
__handler unsigned long jprobe_wrong_stack(unsigned long a __unused, unsigned long b __unused)
{
	jprobe_return_elsewhere();
}
#endif
