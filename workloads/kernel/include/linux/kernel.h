/* Small helpers used everywhere. */
#ifndef _LINUX_KERNEL_H
#define _LINUX_KERNEL_H

#include "compiler.h"
#include "types.h"
#include <asm/bug.h>
#include "native.h"

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define min(a, b) ((a) < (b) ? (a) : (b))

#define PRINTK_ARGS 5
/* Appends to the guest's log what sim_printk makes of it; at most PRINTK_ARGS arguments. */
int klog(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Stops the machine with one line of text; the number is printed as 0x%lx. */
void panic_at(const char *what, unsigned long value) __noreturn;

#define BUG_ON(c) do { if (unlikely(c)) BUG(); } while (0)

#endif
