/* Timers that call back. A CPU's interrupt looks for those that were started there. */
#include "library.h"
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

/* All that are started, the earliest first, and the callbacks that run now. */
static LIST_HEAD(started);
static LIST_HEAD(running);
static DEFINE_SPINLOCK(timers_lock);

/* A callback may free its timer, so what is known of the call is not there. */
struct callback {
	struct list_head all;
	const struct hrtimer *timer;
};

/* Who listened to the timer's interrupt before. */
static unsigned long (*listener)(unsigned long ip, unsigned long cpu);

static void queue(struct hrtimer *timer)
{
	struct hrtimer *at;

	list_for_each_entry(at, &started, queue)
		if (ktime_before(timer->expires, at->expires))
			break;
	list_add_tail(&timer->queue, &at->queue);
	timer->queued = true;
}

static int dequeue(struct hrtimer *timer)
{
	if (!timer->queued)
		return 0;
	list_del(&timer->queue);
	timer->queued = false;
	return 1;
}

static struct hrtimer *first_of(unsigned int cpu)
{
	struct hrtimer *timer;

	list_for_each_entry(timer, &started, queue)
		if (timer->cpu == cpu)
			return timer;
	return NULL;
}

/* Has this CPU interrupted in time, unless ticks do it. */
static void set_clock(void)
{
	const struct hrtimer *first = first_of(smp_processor_id());
	u64 at = first ? ktime_to_ns(first->expires) : 0;
	unsigned long count = sim_timer(first ? &at : NULL);

	if (count)
		timer_start(count, 0);
}

static void call(struct hrtimer *timer)
{
	struct callback this = { .timer = timer };
	enum hrtimer_restart again;

	dequeue(timer);
	list_add(&this.all, &running);
	spin_unlock(&timers_lock);
	again = timer->function(timer);
	spin_lock(&timers_lock);
	list_del(&this.all);
	if (again == HRTIMER_RESTART && !timer->queued)
		queue(timer);
}

/* The timer's interrupt, interrupts off. */
static unsigned long hrtimer_interrupt(unsigned long ip, unsigned long cpu)
{
	ktime_t now = ktime_get();
	struct hrtimer *timer;

	spin_lock(&timers_lock);
	while ((timer = first_of(cpu)) && !ktime_after(timer->expires, now))
		call(timer);
	set_clock();
	spin_unlock(&timers_lock);
	return listener ? listener(ip, cpu) : 0;
}

void hrtimer_init(struct hrtimer *timer, clockid_t clock __unused, enum hrtimer_mode mode __unused)
{
	*timer = (struct hrtimer){ .queued = false };
}

int hrtimer_start(struct hrtimer *timer, ktime_t when, enum hrtimer_mode mode)
{
	unsigned long flags;
	int was;

	spin_lock_irqsave(&timers_lock, flags);
	if (tick_hook != hrtimer_interrupt) {
		listener = tick_hook;
		tick_hook = hrtimer_interrupt;
	}
	was = dequeue(timer);
	timer->expires = mode & HRTIMER_MODE_REL ? ktime_add(ktime_get(), when) : when;
	timer->cpu = smp_processor_id();
	queue(timer);
	set_clock();
	spin_unlock_irqrestore(&timers_lock, flags);
	return was;
}

static int is_running(const struct hrtimer *timer)
{
	const struct callback *each;

	list_for_each_entry(each, &running, all)
		if (each->timer == timer)
			return 1;
	return 0;
}

int hrtimer_callback_running(const struct hrtimer *timer)
{
	unsigned long flags;
	int is;

	spin_lock_irqsave(&timers_lock, flags);
	is = is_running(timer);
	spin_unlock_irqrestore(&timers_lock, flags);
	return is;
}

bool hrtimer_active(const struct hrtimer *timer)
{
	return timer->queued || hrtimer_callback_running(timer);
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	unsigned long flags;
	int was;

	spin_lock_irqsave(&timers_lock, flags);
	was = is_running(timer) ? -1 : dequeue(timer);
	spin_unlock_irqrestore(&timers_lock, flags);
	return was;
}

int hrtimer_cancel(struct hrtimer *timer)
{
	int was;

	while ((was = hrtimer_try_to_cancel(timer)) < 0)
		cpu_relax();
	return was;
}

u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
	s64 late = ktime_to_ns(ktime_sub(now, timer->expires)), step = max(ktime_to_ns(interval), (s64)1);
	u64 rest, steps;

	if (late < 0 || timer->queued)
		return 0;
	steps = div64_u64_rem(late, step, &rest) + 1;
	timer->expires = ktime_add_ns(timer->expires, late - rest + step);
	return steps;
}

/* For the simulator, when memory goes: how many timers are started that lie there, or whose callback does. */
__used unsigned long hrtimers_within(unsigned long from, unsigned long to)
{
	unsigned long flags, n = 0;
	struct hrtimer *timer;

	spin_lock_irqsave(&timers_lock, flags);
	list_for_each_entry(timer, &started, queue) {
		unsigned long at = (unsigned long)timer, code = (unsigned long)timer->function;

		n += (at >= from && at < to) || (code >= from && code < to);
	}
	spin_unlock_irqrestore(&timers_lock, flags);
	return n;
}

EXPORT_SYMBOL(hrtimer_init);
EXPORT_SYMBOL(hrtimer_start);
EXPORT_SYMBOL(hrtimer_cancel);
EXPORT_SYMBOL(hrtimer_try_to_cancel);
EXPORT_SYMBOL(hrtimer_forward);
EXPORT_SYMBOL(hrtimer_active);
EXPORT_SYMBOL(hrtimer_callback_running);
