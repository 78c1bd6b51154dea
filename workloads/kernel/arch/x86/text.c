/* Changing code that may be running. */
#include <linux/irqflags.h>
#include <asm/processor.h>

/* Writes n bytes over the instructions at addr, by this CPU's own stores; src is guest memory. */
__used void *text_poke(void *addr, const void *src, unsigned long n)
{
	unsigned long flags = local_irq_save();
	unsigned char *to = addr;
	const unsigned char *from = src;

	for (unsigned long i = 0; i < n; i++)
		WRITE_VOLATILE(to[i], from[i]);
	sync_core();
	local_irq_restore(flags);
	return addr;
}

__used void sync_core_self(void)
{
	sync_core();
}

/* Interrupt flag for the simulator: stop_machine runs its work with interrupts off. */
__used unsigned long irq_disable_save(void)
{
	return local_irq_save();
}

__used void irq_restore(unsigned long flags)
{
	local_irq_restore(flags);
}
