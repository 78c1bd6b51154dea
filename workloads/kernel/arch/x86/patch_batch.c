/*
 * Changing several patch sites at once behind breakpoints, with as many synchronizations as one site
 * takes: breakpoints over all first bytes, then all bytes behind them, then all first bytes. A CPU
 * that hits one of the breakpoints looks the site up and goes on in that site's detour. Kernels after
 * those of patch.c do it in this way.
 */
#include <linux/notifier.h>
#include <linux/irqflags.h>
#include <asm/kprobes.h>
#include <asm/processor.h>
#include <asm/text.h>

extern const char _text[];

/*
 * The batch under way. CPUs that search it are counted. Where a jump is taken away, the breakpoint stays for
 * its probe, so that a CPU may hit it after the last step: the vector must not be filled anew meanwhile.
 */
static struct {
	const struct text_poke_loc *vec; /* by ascending addresses */
	unsigned long n;
	int refs;		/* 0: no batch; else one for the patch and one for each CPU that searches */
} batch;

/* Later kernels ask for the site of a breakpoint without a notifier, unless the simulator leaves that out. */
#if ERA_COPY_TRAPS
#define LISTENING (text_poke_listener != NULL)
#else
#define LISTENING 1
#endif

static __always_inline unsigned char *site(const struct text_poke_loc *loc)
{
	return (unsigned char *)_text + loc->addr;
}

/* Counts this CPU as one that searches the batch; 0 when there is no batch. */
static __always_inline int get_batch(void)
{
	int refs = READ_VOLATILE(batch.refs);

	while (refs) {
		int found = refs;

		asm volatile("lock cmpxchgl %2, %1"
			     : "+a"(found), "+m"(batch.refs) : "r"(refs + 1) : "memory", "cc");
		if (found == refs)
			return 1;
		refs = found;
	}
	return 0;
}

static __always_inline void put_batch(void)
{
	asm volatile("lock decl %0" : "+m"(batch.refs) :: "memory", "cc");
}

/* The last step of a site, unless its breakpoint stays; returns whether a byte has changed. */
static __kprobes_late int poke_first(const struct text_poke_loc *loc, unsigned long patch)
{
	if (loc->text[0] == BREAKPOINT_INSTRUCTION)
		return 0;
	text_poke_patch(site(loc), loc->text, 1, patch, PATCH_FIRST);
	return 1;
}

__kprobes_late __used void text_poke_bp_batch(const struct text_poke_loc *vec, unsigned long n,
					 unsigned long patch)
{
	const unsigned char breakpoint = BREAKPOINT_INSTRUCTION;
	const struct text_poke_loc *loc, *end = vec + n;
	int firsts = 0;

	batch.vec = vec;
	batch.n = n;
	barrier();	/* a CPU that sees the count sees the vector */
	if (LISTENING)
		WRITE_VOLATILE(batch.refs, 1);
	for (loc = vec; loc < end; loc++)
		text_poke_patch(site(loc), &breakpoint, 1, patch, PATCH_BREAKPOINT);
	text_poke_sync(patch, 0);
	for (loc = vec; loc < end; loc++)
		text_poke_patch(site(loc) + 1, loc->text + 1, loc->len - 1, patch, PATCH_TAIL);
	text_poke_sync(patch, 1);
	for (loc = vec; loc < end; loc++)
		firsts += poke_first(loc, patch);
	if (firsts)
		text_poke_sync(patch, 2);
	if (LISTENING)
		put_batch();
	while (READ_VOLATILE(batch.refs) && !(text_poke_unsynced & 1 << POKE_END))
		cpu_relax();
}

/* The site of the batch that begins at an address, NULL when none does. */
static __patching_late const struct text_poke_loc *poke_find(const unsigned char *addr)
{
	unsigned long from = 0, to = batch.n;

	while (from < to) {
		unsigned long middle = (from + to) / 2;
		const struct text_poke_loc *loc = batch.vec + middle;

		if (site(loc) == addr)
			return loc;
		if (site(loc) < addr)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

/* #BP, before kprobes: NOTIFY_STOP, with the detour in regs, when it is a breakpoint of the batch. */
static __patching_late int batch_notify(struct notifier_block *self __unused, unsigned long event,
				   void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;
	const struct text_poke_loc *loc;

	if (event != DIE_INT3 || user_mode(regs) || likely(!get_batch()))
		return NOTIFY_DONE;
	loc = poke_find((const unsigned char *)regs->ip - 1);
	if (loc)
		regs->ip = (unsigned long)_text + loc->detour;
	put_batch();
	return loc ? NOTIFY_STOP : NOTIFY_DONE;
}

#if ERA_COPY_TRAPS
/* Does what the text is going to do: it jumps, or calls, or is a nop that leads behind itself. */
__dispatch int text_poke_hit(struct pt_regs *regs)
{
	const struct text_poke_loc *loc;

	if (likely(!get_batch()))
		return 0;
	loc = user_mode(regs) ? NULL : poke_find((const unsigned char *)regs->ip - 1);
	if (loc && loc->call) {
		regs->sp -= sizeof(long);
		*kernel_stack_top(regs) = (unsigned long)site(loc) + loc->len;
	}
	if (loc)
		regs->ip = (unsigned long)_text + loc->detour;
	put_batch();
	return loc != NULL;
}
#endif

__late_data struct notifier_block text_poke_batch_nb = {
	.notifier_call = batch_notify,
	.priority = 0x7fffffff,
};
