/* Times of high resolution. Timers that call back are not there. */
#ifndef _MODULE_LINUX_HRTIMER_H
#define _MODULE_LINUX_HRTIMER_H

#include <linux/ktime.h>

#endif
