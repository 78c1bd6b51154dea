/* As linux/spinlock.h, which has what keeps interrupts away. */
#ifndef _MODULE_LINUX_INTERRUPT_H
#define _MODULE_LINUX_INTERRUPT_H

#include <linux/spinlock.h>

#endif
