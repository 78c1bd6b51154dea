/* The kernel that an era is nearest to, for modules that ask. */
#ifndef _MODULE_LINUX_VERSION_H
#define _MODULE_LINUX_VERSION_H

#include <linux/era.h>

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))

#if ERA >= 2020
#define LINUX_VERSION_CODE KERNEL_VERSION(5, 18, 0)
#elif ERA >= 2017
#define LINUX_VERSION_CODE KERNEL_VERSION(4, 11, 0)
#elif ERA >= 2014
#define LINUX_VERSION_CODE KERNEL_VERSION(3, 18, 0)
#elif ERA >= 2011
#define LINUX_VERSION_CODE KERNEL_VERSION(2, 6, 36)
#elif ERA >= 2010
#define LINUX_VERSION_CODE KERNEL_VERSION(2, 6, 33)
#elif ERA >= 2006
#define LINUX_VERSION_CODE KERNEL_VERSION(2, 6, 18)
#else
#define LINUX_VERSION_CODE KERNEL_VERSION(2, 6, 12)
#endif

#endif
