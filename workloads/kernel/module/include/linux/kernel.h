/* Small helpers that most modules use. */
#ifndef _MODULE_LINUX_KERNEL_H
#define _MODULE_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/bug.h>
#include <linux/linkage.h>
#include <linux/limits.h>
#include <linux/printk.h>
#include <linux/stringify.h>

#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp(v, low, high) min(max(v, low), high)
#define abs(v) ((v) < 0 ? -(v) : (v))
#define swap(a, b) do { __typeof__(a) t__ = (a); (a) = (b); (b) = t__; } while (0)
#define ALIGN(x, n) (((x) + (__typeof__(x))(n) - 1) & ~((__typeof__(x))(n) - 1))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define roundup(n, d) (DIV_ROUND_UP(n, d) * (d))
#define upper_32_bits(n) ((u32)((u64)(n) >> 32))
#define lower_32_bits(n) ((u32)(n))
#define might_sleep() do { } while (0)

int sprintf(char *to, const char *fmt, ...) __printf(2, 3);
int snprintf(char *to, size_t size, const char *fmt, ...) __printf(3, 4);
int scnprintf(char *to, size_t size, const char *fmt, ...) __printf(3, 4);
int vsnprintf(char *to, size_t size, const char *fmt, va_list args);

/* A number at the start of a text; base 0 takes it from the text. */
unsigned long simple_strtoul(const char *text, char **end, unsigned int base);
long simple_strtol(const char *text, char **end, unsigned int base);
/* The same of a whole text: 0, -EINVAL or -ERANGE. */
int kstrtoul(const char *text, unsigned int base, unsigned long *value);
int kstrtol(const char *text, unsigned int base, long *value);
int kstrtoint(const char *text, unsigned int base, int *value);

void panic(const char *fmt, ...) __noreturn __printf(1, 2);

#endif
