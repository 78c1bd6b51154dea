/* Ticks since the machine started. */
#ifndef _MODULE_LINUX_JIFFIES_H
#define _MODULE_LINUX_JIFFIES_H

#include <linux/types.h>

/* Ticks in a second. */
#define HZ 1000

unsigned long kernel_jiffies(void);
u64 get_jiffies_64(void);
#define jiffies kernel_jiffies()

#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)

static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ms;
}

static inline unsigned int jiffies_to_msecs(unsigned long ticks)
{
	return ticks;
}

#endif
