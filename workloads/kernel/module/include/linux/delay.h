/* Waiting: in a loop, or asleep. */
#ifndef _MODULE_LINUX_DELAY_H
#define _MODULE_LINUX_DELAY_H

#include <linux/types.h>

void ndelay(unsigned long ns);
void udelay(unsigned long us);
void mdelay(unsigned long ms);
void msleep(unsigned int ms);
unsigned long msleep_interruptible(unsigned int ms);
void usleep_range(unsigned long least, unsigned long most);
#define ssleep(seconds) msleep((seconds) * 1000)

#endif
