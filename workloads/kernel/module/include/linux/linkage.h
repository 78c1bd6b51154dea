/* How functions that assembly calls take their arguments. */
#ifndef _MODULE_LINUX_LINKAGE_H
#define _MODULE_LINUX_LINKAGE_H

#include <linux/compiler.h>
#include <linux/era.h>
#include <asm/module.h>

#endif
