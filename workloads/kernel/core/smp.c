/* Having other CPUs do something. */
#include <linux/irqflags.h>
#include <linux/smp.h>

void on_each_cpu(void (*fn)(void *), void *arg)
{
	unsigned long flags = local_irq_save();

	fn(arg);
	local_irq_restore(flags);
}
