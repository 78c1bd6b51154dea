/* Who listens for exceptions. */
#ifndef _MODULE_LINUX_KDEBUG_H
#define _MODULE_LINUX_KDEBUG_H

#include <linux/notifier.h>

#endif
