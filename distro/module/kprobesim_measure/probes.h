/* Sets probes up, and tells how the kernel hits them. */
#include <linux/delay.h>
#include <linux/kprobes.h>

static unsigned long hits;

static int nothing(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

static int count(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int nothing_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int count_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_step(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* What a row has. */
struct kind {
	const char *name;
	const char *hit; /* how its probes must be hit */
	const struct site *site;
	bool returns;
};

static struct kprobe entries[MOST_PROBES];
static struct kretprobe returns[MOST_PROBES];
static struct kprobe *entry_list[MOST_PROBES];
static struct kretprobe *return_list[MOST_PROBES];

/* A kernel that boosts jumps back from the slot of an instruction that runs anywhere, unless there is a post handler. */
static bool boosts(void)
{
	return !IS_ENABLED(CONFIG_PREEMPTION);
}

static int set_up(const struct kind *k, unsigned int n, bool counting)
{
	unsigned int i;

	memset(entries, 0, sizeof(entries));
	memset(returns, 0, sizeof(returns));
	for (i = 0; i < n; i++) {
		struct kprobe *p = k->returns ? &returns[i].kp : &entries[i];

		entry_list[i] = p;
		return_list[i] = &returns[i];
		p->addr = (kprobe_opcode_t *)((unsigned long)k->site->function + (k->returns ? 0 : i * k->site->size));
		if (k->returns) {
			returns[i].handler = counting ? count_returned : nothing_returned;
			returns[i].maxactive = 8;
			continue;
		}
		p->pre_handler = counting ? count : nothing;
		if (!strcmp(k->hit, "k") && boosts())
			p->post_handler = after_step;
	}
	return k->returns ? register_kretprobes(return_list, n) : register_kprobes(entry_list, n);
}

#define NEAR_JUMP 0xe9 /* its first byte; no probed instruction begins with it */
#define POLL 20 /* milliseconds */

static u8 first_byte(unsigned int i)
{
	return *(volatile u8 *)entry_list[i]->addr;
}

/* Waits for the optimizer, which changes text when it has the time. */
static bool optimized(unsigned int n)
{
	unsigned int waited, i = 0;

	for (waited = 0; waited < patience; waited += POLL) {
		while (i < n && first_byte(i) == NEAR_JUMP)
			i++;
		if (i == n)
			return true;
		msleep(POLL);
	}
	return false;
}

/* Takes probes away, and waits until the text is as it was: a jump stays behind its probe for a while. */
static bool take_away(const struct kind *k, unsigned int n)
{
	unsigned int waited, i = 0;

	if (k->returns)
		unregister_kretprobes(return_list, n);
	else
		unregister_kprobes(entry_list, n);
	for (waited = 0; waited < patience; waited += POLL) {
		while (i < n && (!k->site->first || first_byte(i) == k->site->first))
			i++;
		if (i == n)
			return true;
		msleep(POLL);
	}
	return false;
}

/* Tells how the kernel hits what was set up, as rows are named. */
static const char *hit_as(const struct kind *k, unsigned int n)
{
	struct kprobe *p = entry_list[0];

	if (p->flags & KPROBE_FLAG_FTRACE)
		return "f";
	if (!strcmp(k->hit, "o") && optimized(n))
		return "o";
#if SINCE(5, 13, 0) || SINCE(5, 10, 223) && !SINCE(5, 11, 0) /* at the latest, of that branch */
	if (p->ainsn.emulate_op)
		return "e";
#endif
	return boosts() && p->ainsn.boostable > 0 && !p->post_handler ? "b" : "k";
}

static unsigned long missed(unsigned int n)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		sum += entry_list[i]->nmissed + return_list[i]->nmissed;
	return sum;
}
