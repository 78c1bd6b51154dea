/*
 * Timers by ticks. They are timers of hrtimer.h for the begin of a tick, so they call back in the timer's interrupt:
 * interrupts are off, where kernels call back in a softirq behind it.
 */
#ifndef _MODULE_LINUX_TIMER_H
#define _MODULE_LINUX_TIMER_H

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/version.h>

/* From 4.15 a callback gets its timer, before a number of the module's. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(4, 15, 0)
#define _TIMER_SINCE_4_15 1
#else
#define _TIMER_SINCE_4_15 0
#endif

struct timer_list {
	unsigned long expires;	/* in jiffies */
#if _TIMER_SINCE_4_15
	void (*function)(struct timer_list *timer);
#else
	void (*function)(unsigned long data);
	unsigned long data;
#endif
	struct hrtimer _clock;
};

static inline enum hrtimer_restart _timer_due(struct hrtimer *clock)
{
	struct timer_list *timer = container_of(clock, struct timer_list, _clock);

#if _TIMER_SINCE_4_15
	timer->function(timer);
#else
	timer->function(timer->data);
#endif
	return HRTIMER_NORESTART;
}

#if _TIMER_SINCE_4_15
#define from_timer(var, callback_timer, member) container_of(callback_timer, typeof(*var), member)
#define TIMER_INITIALIZER(fn) { .function = fn, ._clock.function = _timer_due }
#define DEFINE_TIMER(name, fn) struct timer_list name = TIMER_INITIALIZER(fn)

static inline void timer_setup(struct timer_list *timer, void (*fn)(struct timer_list *), unsigned int flags __always_unused)
{
	*timer = (struct timer_list)TIMER_INITIALIZER(fn);
}
#else
#define TIMER_INITIALIZER(fn, when, number) \
	{ .expires = when, .function = fn, .data = number, ._clock.function = _timer_due }
#define DEFINE_TIMER(name, fn, when, number) struct timer_list name = TIMER_INITIALIZER(fn, when, number)

/* The module sets the members itself. */
static inline void init_timer(struct timer_list *timer)
{
	timer->_clock = (struct hrtimer){ .function = _timer_due };
}

static inline void setup_timer(struct timer_list *timer, void (*fn)(unsigned long), unsigned long data)
{
	*timer = (struct timer_list)TIMER_INITIALIZER(fn, 0, data);
}
#endif

static inline int timer_pending(const struct timer_list *timer)
{
	return timer->_clock.queued;
}

/* 1 when the timer was started before, else 0. */
static inline int mod_timer(struct timer_list *timer, unsigned long when)
{
	timer->expires = when;
	return hrtimer_start(&timer->_clock, ns_to_ktime((u64)when * (NSEC_PER_SEC / HZ)), HRTIMER_MODE_ABS);
}

static inline void add_timer(struct timer_list *timer)
{
	mod_timer(timer, timer->expires);
}

/* 1 when the timer had been started, else 0. The callback may still run. */
static inline int del_timer(struct timer_list *timer)
{
	return hrtimer_try_to_cancel(&timer->_clock) == 1;
}

/* The same, and the callback is over on all CPUs. */
static inline int del_timer_sync(struct timer_list *timer)
{
	return hrtimer_cancel(&timer->_clock);
}

#endif
