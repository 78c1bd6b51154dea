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
#define OMIT_PREDICTOR	8

/* Operations on a line of the caches, by its address, to the point where fetching and data meet (DDI 0406C, B4.2.1).
   Other CPUs of the domain follow. */
#define DCCMVAU "mcr p15, 0, %0, c7, c11, 1"
#define ICIMVAU "mcr p15, 0, %0, c7, c5, 1"
/* All predictions of branches, and all of the instruction cache, of all CPUs of the domain. */
#define BPIALLIS "mcr p15, 0, %0, c7, c1, 6"

static __always_inline void each_line(unsigned long start, unsigned long end, int cleans)
{
	for (; start < end; start += SMP_CACHE_BYTES) {
		if (cleans)
			asm volatile(DCCMVAU :: "r"(start) : "memory");
		else
			asm volatile(ICIMVAU :: "r"(start) : "memory");
	}
}

static __always_inline void drop_fetched(void)
{
	if (!(flush_omitted & OMIT_PREDICTOR))
		asm volatile(BPIALLIS :: "r"(0) : "memory");
	asm volatile("dsb ish" ::: "memory");
	if (!(flush_omitted & OMIT_REFETCH))
		asm volatile("isb" ::: "memory");
}

/* A3.5.4: what was stored reaches the point of unification, the stale lines go, and this CPU fetches anew. */
__kprobes __used void flush_icache_range(unsigned long start, unsigned long end)
{
	start &= -(unsigned long)SMP_CACHE_BYTES;
	if (!(flush_omitted & OMIT_CLEAN))
		each_line(start, end, 1);
	asm volatile("dsb ish" ::: "memory");
	if (!(flush_omitted & OMIT_INVALIDATE))
		each_line(start, end, 0);
	drop_fetched();
}

__kprobes void store_text(u32 *to, const u32 *from, unsigned long n)
{
	for (; n >= sizeof(*to); n -= sizeof(*to))
		WRITE_VOLATILE(*to++, *from++);
}

/* What was stored while the machine stood still, which each CPU maintains by itself when it goes on. */
#define STOPPED_WORDS 256
static struct {
	int patch;		/* that the machine stands still for */
	unsigned int count;
	unsigned long words[STOPPED_WORDS];
} stored;

static __always_inline void remember_stored(unsigned long addr)
{
	if (stored.patch != text_poke_stopped) {
		stored.patch = text_poke_stopped;
		stored.count = 0;
	}
	if (stored.count < STOPPED_WORDS)
		stored.words[stored.count++] = addr;
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
	if (text_poke_stopped)
		remember_stored((unsigned long)addr);
	if (patch)
		text_poke_note(patch, step, addr);
	local_irq_restore(flags);
}

__stop void text_poke_leave_stop(void)
{
	unsigned int i;

	if (!text_poke_stopped)
		return;
	for (i = 0; i < stored.count; i++)
		flush_icache_range(stored.words[i], stored.words[i] + sizeof(u32));
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
