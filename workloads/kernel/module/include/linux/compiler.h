/* Annotations of modules. What Linux only tells its checkers is nothing here. */
#ifndef _MODULE_LINUX_COMPILER_H
#define _MODULE_LINUX_COMPILER_H

#include_next <linux/compiler.h>

#define __user
#define __kernel
#define __iomem
#define __force
#define __percpu
#define __rcu
#define __must_check __attribute__((warn_unused_result))
#define __maybe_unused __attribute__((unused))
#define __always_unused __attribute__((unused))
#define __packed __attribute__((packed))
#define __weak __attribute__((weak))
#define __pure __attribute__((pure))
#define __cold __attribute__((cold))
#define __deprecated
#define __printf(at, first) __attribute__((format(printf, at, first)))
#define fallthrough __attribute__((fallthrough))
#define notrace __attribute__((no_instrument_function))
#define noinline_for_stack noinline

#define READ_ONCE(x) READ_VOLATILE(x)
#define WRITE_ONCE(x, v) WRITE_VOLATILE(x, v)
#define ACCESS_ONCE(x) (*(volatile __typeof__(x) *)&(x))

#define __stringify_1(...) #__VA_ARGS__
#define __stringify(...) __stringify_1(__VA_ARGS__)

/* A name that no other line of the file has. */
#define MODULE_PASTE_1(a, b) a##b
#define MODULE_PASTE(a, b) MODULE_PASTE_1(a, b)
#define __UNIQUE_ID(prefix) MODULE_PASTE(prefix, __COUNTER__)

#endif
