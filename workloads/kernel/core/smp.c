/*
 * Having all CPUs call a function. One call is under way at a time: the sender holds the lock until every
 * other CPU has answered.
 */
#include <linux/atomic.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

unsigned int cpus_online = 1;

static DEFINE_SPINLOCK(call_lock);

/* Read by all, written by the sender; the count of answers is written by all. */
static struct {
	void (*fn)(void *);
	void *arg;
	unsigned int missing;
} call ____cacheline_aligned;

static void call_here(void (*fn)(void *), void *arg)
{
	unsigned long flags = local_irq_save();

	fn(arg);
	local_irq_restore(flags);
}

static void call_all(void (*fn)(void *), void *arg)
{
	spin_lock(&call_lock);
	call.fn = fn;
	call.arg = arg;
	WRITE_VOLATILE(call.missing, cpus_online - 1);
	smp_send_call_function();
	call_here(fn, arg);
	while (READ_VOLATILE(call.missing))
		cpu_relax();
	spin_unlock(&call_lock);
}

__used void on_each_cpu(void (*fn)(void *), void *arg)
{
	if (cpus_online > 1)
		call_all(fn, arg);
	else
		call_here(fn, arg);
}

void generic_smp_call_function_interrupt(void)
{
	call.fn(call.arg);
	atomic_dec(&call.missing);
}
