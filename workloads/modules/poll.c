/*
 * A timer by ticks looks again and again how many calls a probe has seen, as modules do that watch a rate. It starts
 * itself again until the module goes.
 */
#include <linux/kprobes.h>
#include <linux/timer.h>
#include <linux/delay.h>
#include <linux/module.h>

static unsigned int every = 3;
module_param(every, uint, 0444);
MODULE_PARM_DESC(every, "ticks between two looks");

static unsigned long calls, seen, most, due;
static unsigned int looks, early, late;

static void look(void);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(4, 15, 0)
static struct poll {
	unsigned long magic;
	struct timer_list timer;
} poll = { .magic = 42 };

static void run_out(struct timer_list *t)
{
	struct poll *of = from_timer(of, t, timer);

	if (of->magic == 42)
		look();
}

#define PREPARE() timer_setup(&poll.timer, run_out, 0)
#else
static struct {
	struct timer_list timer;
} poll;

static void run_out(unsigned long magic)
{
	if (magic == 42)
		look();
}

#define PREPARE() setup_timer(&poll.timer, run_out, 42)
#endif

static void look(void)
{
	looks++;
	early += time_before(jiffies, due);
	late += time_after(jiffies, due + 1);
	most = max(most, calls - seen);
	seen = calls;
	due = jiffies + every;
	mod_timer(&poll.timer, due);
}

static int count(struct kprobe *at, struct pt_regs *regs)
{
	calls++;
	return 0;
}

static struct kprobe probe = { .symbol_name = "work_checksum", .pre_handler = count };

static int __init poll_init(void)
{
	int error = register_kprobe(&probe), before, behind, ended;

	if (error)
		return error;
	PREPARE();
	before = timer_pending(&poll.timer);
	poll.timer.expires = jiffies + every;
	add_timer(&poll.timer);
	behind = timer_pending(&poll.timer);
	ended = del_timer(&poll.timer);
	pr_info("poll: pending %d, then %d; ended %d, then %d\n", before, behind, ended, del_timer(&poll.timer));
	due = jiffies + every;
	before = mod_timer(&poll.timer, due + 1);
	pr_info("poll: started %d, moved %d\n", before, mod_timer(&poll.timer, due));
	while (looks < 4)
		msleep(1);
	return 0;
}

static void __exit poll_exit(void)
{
	int ended = del_timer_sync(&poll.timer);

	pr_info("poll: %d ended, %u early, %u late, at most %lu calls in %u ticks\n", ended, early, late, most, every);
	unregister_kprobe(&probe);
}

module_init(poll_init);
module_exit(poll_exit);
MODULE_LICENSE("GPL");
