/* Stores into code, and what the simulator calls around them. What other CPUs need is in patch.c. */
#include <linux/irqflags.h>
#include <linux/native.h>
#include <asm/processor.h>
#include <asm/text.h>

/* One store a byte. Another CPU may execute any state in between. */
static __kprobes void store_text(unsigned char *to, const unsigned char *from, unsigned long n)
{
	while (n--)
		WRITE_VOLATILE(*to++, *from++);
}

/* Stores n bytes from guest memory over code. This CPU executes nothing older afterwards. */
static __always_inline void store_and_forget(void *addr, const void *src, unsigned long n,
					     unsigned long patch, unsigned long step)
{
	unsigned long flags = local_irq_save();

	store_text(addr, src, n);
	if (patch)
		text_poke_note(patch, step, addr);
	sync_core();
	local_irq_restore(flags);
}

__kprobes __used void *text_poke(void *addr, const void *src, unsigned long n)
{
	store_and_forget(addr, src, n, 0, 0);
	return addr;
}

/* As a step of a patch, of which the simulator hears once the bytes are there. */
__kprobes __used void text_poke_patch(void *addr, const void *src, unsigned long n,
				      unsigned long patch, unsigned long step)
{
	store_and_forget(addr, src, n, patch, step);
}

/* For work during which the machine is stopped. */
__used unsigned long irq_disable_save(void)
{
	return local_irq_save();
}

__used void irq_restore(unsigned long flags)
{
	local_irq_restore(flags);
}
