/*
 * Lines in the kernel's log, which the run keeps as the guest's console. Formats are those of Linux. A pointer is
 * printed as it is; %pS and %pF name what lies at an address, %ps and %pf without offset.
 */
#ifndef _MODULE_LINUX_PRINTK_H
#define _MODULE_LINUX_PRINTK_H

#include <linux/compiler.h>
#include <linux/kern_levels.h>
#include <linux/types.h>

#ifndef KBUILD_MODNAME
#define KBUILD_MODNAME __FILE_NAME__
#endif
#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif

int printk(const char *fmt, ...) __printf(1, 2);
int vprintk(const char *fmt, va_list args);

#define pr_emerg(fmt, ...) printk(KERN_EMERG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_alert(fmt, ...) printk(KERN_ALERT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_crit(fmt, ...) printk(KERN_CRIT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err(fmt, ...) printk(KERN_ERR pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warning(fmt, ...) printk(KERN_WARNING pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...) printk(KERN_WARNING pr_fmt(fmt), ##__VA_ARGS__)
#define pr_notice(fmt, ...) printk(KERN_NOTICE pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...) printk(KERN_INFO pr_fmt(fmt), ##__VA_ARGS__)
#define pr_cont(fmt, ...) printk(KERN_CONT fmt, ##__VA_ARGS__)

static inline __printf(1, 2) int no_printk(const char *fmt __unused, ...)
{
	return 0;
}

#ifdef DEBUG
#define pr_debug(fmt, ...) printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_devel(fmt, ...) printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#else
#define pr_debug(fmt, ...) no_printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_devel(fmt, ...) no_printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#endif

/* The first time that execution comes to the line. */
#define printk_once(...) ({			\
	static bool said__;			\
	if (!said__) {				\
		said__ = true;			\
		printk(__VA_ARGS__);		\
	} })
#define pr_info_once(fmt, ...) printk_once(KERN_INFO pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn_once(fmt, ...) printk_once(KERN_WARNING pr_fmt(fmt), ##__VA_ARGS__)
/* Nothing is left out: the console has room. */
#define printk_ratelimit() 1
#define printk_ratelimited printk
#define pr_info_ratelimited pr_info
#define pr_warn_ratelimited pr_warn
#define pr_err_ratelimited pr_err

/* The tracer's buffer is the log. */
#define trace_printk(fmt, ...) printk(KERN_INFO fmt, ##__VA_ARGS__)

/* The way by which execution came here: the running task, and a line for each return address. */
void dump_stack(void);

#endif
