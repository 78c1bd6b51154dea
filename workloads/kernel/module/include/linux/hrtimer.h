/*
 * Timers that call back in an interrupt, on the CPU that started them. With periodic ticks a callback comes at the
 * first tick behind its time, as in kernels without high resolution. Without ticks it has an interrupt of its own.
 */
#ifndef _MODULE_LINUX_HRTIMER_H
#define _MODULE_LINUX_HRTIMER_H

#include <linux/ktime.h>
#include <linux/list.h>

enum hrtimer_restart {
	HRTIMER_NORESTART,
	HRTIMER_RESTART,	/* it was led on to another time, and comes again then */
};

/* The flags are added to one of the first two, and change nothing: each timer stays where it was started. */
enum hrtimer_mode {
	HRTIMER_MODE_ABS,
	HRTIMER_MODE_REL,
	HRTIMER_MODE_PINNED,
	HRTIMER_MODE_ABS_PINNED = HRTIMER_MODE_ABS | HRTIMER_MODE_PINNED,
	HRTIMER_MODE_REL_PINNED = HRTIMER_MODE_REL | HRTIMER_MODE_PINNED,
	HRTIMER_MODE_HARD = 8,
	HRTIMER_MODE_ABS_HARD = HRTIMER_MODE_ABS | HRTIMER_MODE_HARD,
	HRTIMER_MODE_REL_HARD = HRTIMER_MODE_REL | HRTIMER_MODE_HARD,
	/* Names of 2.6.16 to 2.6.20. */
	HRTIMER_ABS = HRTIMER_MODE_ABS,
	HRTIMER_REL = HRTIMER_MODE_REL,
};

#ifndef CLOCK_MONOTONIC
typedef int clockid_t;
/* One clock, which begins when the machine starts. */
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_BOOTTIME 7
#endif

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	struct list_head queue;
	ktime_t expires;
	unsigned int cpu;	/* that started it */
	bool queued;
};

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode);
/* 1 when the timer was started before, else 0. Later kernels return nothing. */
int hrtimer_start(struct hrtimer *timer, ktime_t when, enum hrtimer_mode mode);
/* 1 when the timer had been started, else 0. The callback is over on all CPUs, so that it must not ask itself. */
int hrtimer_cancel(struct hrtimer *timer);
/* The same, or -1 while the callback runs. */
int hrtimer_try_to_cancel(struct hrtimer *timer);
/* For a callback: leads the timer behind now in steps of the interval, and returns how many. */
u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval);
/* Whether the timer is started, or its callback runs. */
bool hrtimer_active(const struct hrtimer *timer);
int hrtimer_callback_running(const struct hrtimer *timer);

#define hrtimer_start_range_ns(timer, when, slack, mode) hrtimer_start(timer, when, mode)
#define hrtimer_cb_get_time(timer) ktime_get()

static inline u64 hrtimer_forward_now(struct hrtimer *timer, ktime_t interval)
{
	return hrtimer_forward(timer, ktime_get(), interval);
}

static inline int hrtimer_is_queued(const struct hrtimer *timer)
{
	return timer->queued;
}

static inline ktime_t hrtimer_get_expires(const struct hrtimer *timer)
{
	return timer->expires;
}

static inline void hrtimer_set_expires(struct hrtimer *timer, ktime_t when)
{
	timer->expires = when;
}

static inline ktime_t hrtimer_get_remaining(const struct hrtimer *timer)
{
	return ktime_sub(timer->expires, ktime_get());
}

/* Starts it for the time that it has. */
static inline void hrtimer_restart(struct hrtimer *timer)
{
	hrtimer_start(timer, timer->expires, HRTIMER_MODE_ABS);
}

#endif
