/* What makes a file a module. */
#ifndef _MODULE_LINUX_MODULE_H
#define _MODULE_LINUX_MODULE_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#define MODULE_NAME_LEN (64 - sizeof(unsigned long))

enum module_state {
	MODULE_STATE_LIVE,
	MODULE_STATE_COMING,	/* its init function runs */
	MODULE_STATE_GOING,	/* its exit function runs */
};

/* What the kernel knows of a module. */
struct module {
	enum module_state state;
	char name[MODULE_NAME_LEN];
	int refcnt;		/* who uses it; it stays while it is not 0 */
};

#ifdef MODULE
/* The loader makes it. */
extern struct module __this_module;
#define THIS_MODULE (&__this_module)

/* The loader calls these names. */
#define module_init(f)								\
	static inline __maybe_unused initcall_t module_init_type(void) { return f; } \
	int init_module(void) __attribute__((alias(#f)));
#define module_exit(f)								\
	static inline __maybe_unused exitcall_t module_exit_type(void) { return f; } \
	void cleanup_module(void) __attribute__((alias(#f)));
#endif

#define MODULE_LICENSE(text) MODULE_INFO(license, text)
#define MODULE_AUTHOR(text) MODULE_INFO(author, text)
#define MODULE_DESCRIPTION(text) MODULE_INFO(description, text)
#define MODULE_VERSION(text) MODULE_INFO(version, text)
#define MODULE_ALIAS(text) MODULE_INFO(alias, text)
#define MODULE_SUPPORTED_DEVICE(text) MODULE_INFO(device, text)

/* One more, or one fewer, who needs a module. A module that goes takes no more. */
bool try_module_get(struct module *module);
void module_put(struct module *module);
#define __module_get(module) ((void)try_module_get(module))
int module_refcount(struct module *module);
const char *module_name(struct module *module);

#endif
