/*
 * A timer that calls back again and again, and a probe at its callback: the handler runs in the timer's interrupt. The
 * module waits for some beats when it begins, and tells of all of them when it goes.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static unsigned int period_us = 2500;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between two beats");
static unsigned int wanted = 4;
module_param(wanted, uint, 0444);
static bool leaves;
module_param(leaves, bool, 0);

static struct hrtimer clock;
static ktime_t began, last;
static unsigned int beats, skipped, hits, in_interrupts, early;

static enum hrtimer_restart beat(struct hrtimer *timer)
{
	ktime_t now = hrtimer_cb_get_time(timer);

	early += ktime_before(now, hrtimer_get_expires(timer));
	last = now;
	if (++beats == wanted)
		return HRTIMER_NORESTART;
	skipped += hrtimer_forward(timer, now, ns_to_ktime(period_us * (u64)NSEC_PER_USEC)) - 1;
	return HRTIMER_RESTART;
}

static int hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	in_interrupts += in_interrupt() && irqs_disabled();
	return 0;
}

static struct kprobe probe = { .symbol_name = "beat", .pre_handler = hit };

static int __init begin(void)
{
	int error = register_kprobe(&probe);

	if (error)
		return error;
	began = ktime_get();
	hrtimer_init(&clock, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	clock.function = beat;
	hrtimer_start(&clock, ns_to_ktime(period_us * (u64)NSEC_PER_USEC), HRTIMER_MODE_REL);
	while (hrtimer_active(&clock))
		msleep(1);
	pr_info("ticker: %u beats, the last after %lld us, %u skipped, %u early\n", beats,
		(long long)ktime_us_delta(last, began), skipped, early);
	hrtimer_start(&clock, ktime_set(3600, 0), HRTIMER_MODE_REL);
	return 0;
}

static void __exit end(void)
{
	if (!leaves) {
		int first = hrtimer_cancel(&clock);

		pr_info("ticker: %d cancelled, then %d\n", first, hrtimer_cancel(&clock));
	}
	unregister_kprobe(&probe);
	pr_info("ticker: %u hits, %u of them in interrupts\n", hits, in_interrupts);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
