/* Changing code that may be running: by plain stores. What needs more is in patch.c. */
#include <linux/irqflags.h>
#include <linux/native.h>
#include <asm/processor.h>
#include <asm/text.h>

/* This CPU's own stores, one a byte: others may execute what is there in between. */
static __kprobes void store_text(void *addr, const void *src, unsigned long n)
{
	unsigned char *to = addr;
	const unsigned char *from = src;

	for (unsigned long i = 0; i < n; i++)
		WRITE_VOLATILE(to[i], from[i]);
}

/* Writes n bytes over the instructions at addr; src is guest memory. */
__kprobes __used void *text_poke(void *addr, const void *src, unsigned long n)
{
	unsigned long flags = local_irq_save();

	store_text(addr, src, n);
	sync_core();
	local_irq_restore(flags);
	return addr;
}

/* The same as a step of a numbered patch, told to the simulator once the bytes are there. */
__kprobes __used void text_poke_patch(void *addr, const void *src, unsigned long n,
				      unsigned long patch, unsigned long step)
{
	unsigned long flags = local_irq_save();

	store_text(addr, src, n);
	text_poke_note(patch, step, addr);
	sync_core();
	local_irq_restore(flags);
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
