/* What a line of the log begins with: how urgent it is. Kernels since 3.6 mark it by a character of its own. */
#ifndef _MODULE_LINUX_KERN_LEVELS_H
#define _MODULE_LINUX_KERN_LEVELS_H

#include <linux/era.h>

#if ERA >= 2012
#define KERN_SOH "\001"
#define KERN_LEVEL(n) KERN_SOH n
#define KERN_CONT KERN_SOH "c"
#else
#define KERN_LEVEL(n) "<" n ">"
#define KERN_CONT ""
#endif

#define KERN_EMERG KERN_LEVEL("0")
#define KERN_ALERT KERN_LEVEL("1")
#define KERN_CRIT KERN_LEVEL("2")
#define KERN_ERR KERN_LEVEL("3")
#define KERN_WARNING KERN_LEVEL("4")
#define KERN_NOTICE KERN_LEVEL("5")
#define KERN_INFO KERN_LEVEL("6")
#define KERN_DEBUG KERN_LEVEL("7")
#define KERN_DEFAULT ""

#endif
