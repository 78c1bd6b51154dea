/*
 * Handlers to attach to probes. A name says what is measured: nothing (empty), a counter of the
 * CPU (count), one counter of all CPUs (shared_count), or handler_work_n rounds of arithmetic.
 * Kinds: handler_ before the instruction, post_ after it, entry_ and ret_ for return probes.
 */
#include <linux/guest.h>
#include <linux/kprobes.h>
#include <linux/workload.h>

/* Hits per CPU and of all CPUs, for the simulator to read. */
DEFINE_PER_CPU(unsigned long, handler_hits);
unsigned long handler_shared_hits ____cacheline_aligned;
/* What the handlers saw last: the value returned to a return handler. */
DEFINE_PER_CPU(unsigned long, handler_last_value);
/* Rounds of handler_work and its kin, written by the simulator. */
unsigned long handler_work_n = 100;
/* What the work handlers compute. */
DEFINE_PER_CPU(unsigned long, handler_work_sum);

static __always_inline void count_hit(void)
{
	percpu_add(handler_hits, 1);
}

/* A dependent chain of about three cycles a round. */
static __always_inline void do_work(unsigned long seed)
{
	for (unsigned long i = handler_work_n; i; i--)
		seed = (seed ^ i) * 3 + (seed >> 7);
	percpu_write(handler_work_sum, seed);
}

__handler int handler_empty(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

__handler int handler_count(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	count_hit();
	return 0;
}

/* What handlers must not do, and so not among those whose time counts. */
__used int handler_sleeping(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	schedule();
	return 0;
}

__handler int handler_shared_count(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	atomic_long_inc(&handler_shared_hits);
	return 0;
}

__handler int handler_work(struct kprobe *p __unused, struct pt_regs *regs)
{
	do_work(regs_first_argument(regs));
	return 0;
}

__handler void post_empty(struct kprobe *p __unused, struct pt_regs *regs __unused,
			  unsigned long flags __unused)
{
}

__handler void post_count(struct kprobe *p __unused, struct pt_regs *regs __unused,
			  unsigned long flags __unused)
{
	count_hit();
}

/* Reads where no memory is: what a fault handler or the exception table has to mend. */
__handler int handler_faulting(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	load_unmapped();
	return 0;
}

__handler int fault_count(struct kprobe *p __unused, struct pt_regs *regs __unused,
			  int trapnr __unused)
{
	count_hit();
	return 0;
}

__handler int ret_empty(struct kretprobe_instance *ri __unused, struct pt_regs *regs __unused)
{
	return 0;
}

__handler int ret_count(struct kretprobe_instance *ri __unused, struct pt_regs *regs)
{
	count_hit();
	percpu_write(handler_last_value, regs_return_value(regs));
	return 0;
}

__handler int ret_shared_count(struct kretprobe_instance *ri __unused,
			       struct pt_regs *regs __unused)
{
	atomic_long_inc(&handler_shared_hits);
	return 0;
}

__handler int ret_work(struct kretprobe_instance *ri __unused, struct pt_regs *regs)
{
	do_work(regs_return_value(regs));
	return 0;
}

__handler int entry_empty(struct kretprobe_instance *ri __unused, struct pt_regs *regs __unused)
{
	return 0;
}

/* Needs a word of instance data: keeps the first argument for the return handler. */
__handler int entry_argument(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(unsigned long *)ri->data = regs_first_argument(regs);
	return 0;
}

/* Refuses the instance: the return is not seen. */
__handler int entry_veto(struct kretprobe_instance *ri __unused, struct pt_regs *regs __unused)
{
	return 1;
}
