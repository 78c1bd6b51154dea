/* A kprobe and a return probe at a function that a parameter names, with handlers, counters and messages of its own. */
#include "module.h"
#include <linux/hrtimer.h>

static char symbol[32] = "work_checksum";
static int level = 1;
static unsigned short small[4];
static unsigned int smalls;
static char *greeting = "hello";
static unsigned char loud, quiet;
static int fails;
static int leaves;	/* 1: the kprobe, 2: the timer */

PARAM(symbol, 6);
PARAM(level, 1);
PARAM(greeting, 5);
PARAM(loud, 3);
PARAM(quiet, 4);
PARAM(fails, 1);
PARAM(leaves, 1);
PARAM_ARRAY(small, 2, &smalls);

unsigned long hits, returns, posts;

int probe_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	hits += level;
	return 0;
}

static void probe_post(struct kprobe *p __unused, struct pt_regs *regs __unused, unsigned long flags __unused)
{
	posts++;
}

static int probe_return(struct kretprobe_instance *ri __unused, struct pt_regs *regs __unused)
{
	returns++;
	return 0;
}

static struct kprobe kp = { .symbol_name = symbol, .pre_handler = probe_pre, .post_handler = probe_post };
static struct kretprobe rp = { .kp.symbol_name = symbol, .handler = probe_return, .maxactive = 4 };

/* A function of the module, to be probed in its turn. */
noinline unsigned long module_work(unsigned long n)
{
	unsigned long sum = level;

	for (unsigned long i = 0; i < n; i++)
		sum = sum * 3 + i;
	return sum;
}

static unsigned long (*indirect)(unsigned long) = module_work;

unsigned long tell(unsigned long n)
{
	printk("%s %d %d %u %u: %lu\n", greeting, loud, quiet, smalls, small[1], indirect(n));
	return hits;
}

static struct hrtimer timer;

static enum hrtimer_restart elapsed(struct hrtimer *t __unused)
{
	return HRTIMER_NORESTART;
}

static int __init probe_init(void)
{
	int ret;

	if (fails)
		return -fails;
	ret = register_kprobe(&kp);
	if (ret < 0) {
		printk("no kprobe at %s: %d\n", symbol, ret);
		return ret;
	}
	ret = register_kretprobe(&rp);
	if (ret < 0) {
		unregister_kprobe(&kp);
		return ret;
	}
	printk("planted at %s\n", symbol);
	return 0;
}

static void __exit probe_exit(void)
{
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer.function = elapsed;
	hrtimer_start(&timer, ktime_set(1, 0), HRTIMER_MODE_REL);
	if (leaves != 2)
		hrtimer_cancel(&timer);
	if (leaves != 1)
		unregister_kprobe(&kp);
	unregister_kretprobe(&rp);
	printk("%lu hits, %lu posts, %lu returns\n", hits, posts, returns);
}

EXPORT(module_work);
EXPORT(hits);
module_init(probe_init);
module_exit(probe_exit);
