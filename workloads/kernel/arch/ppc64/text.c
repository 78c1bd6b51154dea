/*
 * Stores into code, and what the simulator calls around them. A word that lies at a multiple of four bytes is
 * fetched whole: another CPU executes the old one or the new one.
 */
#include <linux/irqflags.h>
#include <linux/native.h>
#include <linux/types.h>
#include <asm/cache.h>
#include <asm/text.h>

#define PATCH_SYNC 5	/* what the simulator is told: this CPU has dropped what it had fetched */

int text_poke_stopped;

/* Steps that the simulator has left out, to see what becomes of it. */
int flush_omitted;

#define OMIT_CLEAN	1
#define OMIT_INVALIDATE	2
#define OMIT_REFETCH	4

/*
 * Book II, section 3.2.2.1: the stored lines go to memory, stale copies leave the instruction caches of all CPUs, and
 * this CPU drops what it has fetched. Where caches are coherent only the last step has an effect.
 */
__kprobes __used void flush_icache_range(unsigned long start, unsigned long end)
{
	unsigned long line;

	start &= -(unsigned long)SMP_CACHE_BYTES;
	for (line = start; line < end && !(flush_omitted & OMIT_CLEAN); line += SMP_CACHE_BYTES)
		asm volatile("dcbst 0, %0" :: "r"(line) : "memory");
	asm volatile("sync" ::: "memory");
	for (line = start; line < end && !(flush_omitted & OMIT_INVALIDATE); line += SMP_CACHE_BYTES)
		asm volatile("icbi 0, %0" :: "r"(line) : "memory");
	asm volatile("sync" ::: "memory");
	if (!(flush_omitted & OMIT_REFETCH))
		asm volatile("isync" ::: "memory");
}

__kprobes void store_text(u32 *to, const u32 *from, unsigned long n)
{
	for (; n >= sizeof(*to); n -= sizeof(*to))
		WRITE_VOLATILE(*to++, *from++);
}

__kprobes __used void *text_poke(void *addr, const void *src, unsigned long n)
{
	store_text(addr, src, n);
	flush_icache_range((unsigned long)addr, (unsigned long)addr + n);
	return addr;
}

/* As a step of a patch, of which the simulator hears once the words are there. */
__kprobes __used void text_poke_patch(void *addr, const void *src, unsigned long n, unsigned long patch,
				      unsigned long step)
{
	unsigned long flags = local_irq_save();

	text_poke(addr, src, n);
	if (patch)
		text_poke_note(patch, step, addr);
	local_irq_restore(flags);
}

__stop void text_poke_leave_stop(void)
{
	if (!text_poke_stopped)
		return;
	asm volatile("isync" ::: "memory");
	text_poke_note(text_poke_stopped, PATCH_SYNC, 0);
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
