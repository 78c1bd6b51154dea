/* As linux/atomic.h. */
#ifndef _MODULE_ASM_ATOMIC_H
#define _MODULE_ASM_ATOMIC_H

#include <linux/atomic.h>

#endif
