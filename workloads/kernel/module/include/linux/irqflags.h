/* As linux/spinlock.h. */
#ifndef _MODULE_LINUX_IRQFLAGS_H
#define _MODULE_LINUX_IRQFLAGS_H

#include_next <linux/irqflags.h>
#include <linux/spinlock.h>

#endif
