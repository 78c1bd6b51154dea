/* What must not happen: BUG ends the run, WARN says so and goes on. */
#ifndef _MODULE_LINUX_BUG_H
#define _MODULE_LINUX_BUG_H

#include <linux/printk.h>
#include <asm/bug.h>

void warn_at(const char *file, int line, const char *function);

#define WARN_ON(c) ({							\
	int warn__ = !!(c);						\
	if (unlikely(warn__))						\
		warn_at(__FILE__, __LINE__, __func__);			\
	unlikely(warn__); })
#define WARN(c, ...) ({							\
	int told__ = WARN_ON(c);					\
	if (told__)							\
		printk(__VA_ARGS__);					\
	unlikely(told__); })
#define WARN_ON_ONCE(c) ({						\
	static bool warned__;						\
	int once__ = !!(c);						\
	if (unlikely(once__ && !warned__)) {				\
		warned__ = true;					\
		warn_at(__FILE__, __LINE__, __func__);			\
	}								\
	unlikely(once__); })
#define WARN_ONCE(c, ...) WARN_ON_ONCE(c)
#define BUILD_BUG_ON(c) _Static_assert(!(c), #c)

#endif
