/* A macro's value as text. */
#ifndef _MODULE_LINUX_STRINGIFY_H
#define _MODULE_LINUX_STRINGIFY_H

#include <linux/compiler.h>

#endif
