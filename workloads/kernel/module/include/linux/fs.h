/* Lengths of names. There are no files. */
#ifndef _MODULE_LINUX_FS_H
#define _MODULE_LINUX_FS_H

#include <linux/limits.h>
#include <linux/kernel.h>

#endif
