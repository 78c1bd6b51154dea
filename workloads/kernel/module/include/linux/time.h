/* Units of time, and the time of day, which begins when the machine starts. */
#ifndef _MODULE_LINUX_TIME_H
#define _MODULE_LINUX_TIME_H

#include <linux/types.h>

#define MSEC_PER_SEC 1000L
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L
#define NSEC_PER_SEC 1000000000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_USEC 1000L

struct timeval {
	time_t tv_sec;
	long tv_usec;
};

struct timespec {
	time_t tv_sec;
	long tv_nsec;
};

void do_gettimeofday(struct timeval *now);
void getnstimeofday(struct timespec *now);

#endif
