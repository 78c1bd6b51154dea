/* Clocks and waiting. */
#include "library.h"
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/irqflags.h>

ktime_t ktime_get(void)
{
	u64 ns;

	sim_clock(&ns);
	return ns_to_ktime(ns);
}

ktime_t ktime_get_real(void)
{
	return ktime_get();
}

void getnstimeofday(struct timespec *now)
{
	u64 rest;

	now->tv_sec = div64_u64_rem(ktime_get_ns(), NSEC_PER_SEC, &rest);
	now->tv_nsec = rest;
}

void do_gettimeofday(struct timeval *now)
{
	struct timespec fine;

	getnstimeofday(&fine);
	*now = (struct timeval){ fine.tv_sec, fine.tv_nsec / NSEC_PER_USEC };
}

unsigned long kernel_jiffies(void)
{
	return sim_jiffies();
}

u64 get_jiffies_64(void)
{
	return sim_jiffies();
}

void ndelay(unsigned long ns)
{
	u64 now, end;

	sim_clock(&now);
	for (end = now + ns; now < end; sim_clock(&now))
		cpu_relax();
}

void udelay(unsigned long us)
{
	ndelay(us * NSEC_PER_USEC);
}

void mdelay(unsigned long ms)
{
	while (ms--)
		udelay(USEC_PER_MSEC);
}

/* One tick more than the time: the first one is not whole. */
void msleep(unsigned int ms)
{
	schedule_timeout(msecs_to_jiffies(ms) + 1);
}

/* There are no signals, so that nothing ends a sleep early. */
unsigned long msleep_interruptible(unsigned int ms)
{
	msleep(ms);
	return 0;
}

void usleep_range(unsigned long least, unsigned long most __unused)
{
	if (least < USEC_PER_MSEC)
		udelay(least);
	else
		msleep(DIV_ROUND_UP(least, USEC_PER_MSEC));
}

EXPORT_SYMBOL(ktime_get);
EXPORT_SYMBOL(ktime_get_real);
EXPORT_SYMBOL(getnstimeofday);
EXPORT_SYMBOL(do_gettimeofday);
EXPORT_SYMBOL(kernel_jiffies);
EXPORT_SYMBOL(get_jiffies_64);
EXPORT_SYMBOL(ndelay);
EXPORT_SYMBOL(udelay);
EXPORT_SYMBOL(mdelay);
EXPORT_SYMBOL(msleep);
EXPORT_SYMBOL(msleep_interruptible);
EXPORT_SYMBOL(usleep_range);
EXPORT_SYMBOL(schedule_timeout);
EXPORT_SYMBOL(schedule);
