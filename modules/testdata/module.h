/* What the test modules need beside the guest's headers: how the loader finds functions, parameters and exports. */
#ifndef MODULE_H
#define MODULE_H

#include <linux/kprobes.h>
#include <linux/kernel.h>

#define __init __section(".init.text")
#define __exit __section(".exit.text")
#define module_init(f) int init_module(void) __attribute__((alias(#f)))
#define module_exit(f) void cleanup_module(void) __attribute__((alias(#f)))

struct param_record {
	const char *name;
	int kind;
	void *at;
	unsigned long size, max;
	unsigned int *num;
};

#define PARAM(variable, kind) \
	static const struct param_record param_##variable __attribute__((section("__param"), used, aligned(sizeof(long)))) = \
		{ #variable, kind, &variable, sizeof(variable), 0, NULL }
#define PARAM_ARRAY(variable, kind, count) \
	static const struct param_record param_##variable __attribute__((section("__param"), used, aligned(sizeof(long)))) = \
		{ #variable, kind, variable, sizeof(variable[0]), ARRAY_SIZE(variable), count }

struct export_record {
	unsigned long address;
	const char *name;
};

#define EXPORT(what) \
	static const struct export_record export_##what __attribute__((section("__ksymtab"), used, aligned(sizeof(long)))) = \
		{ (unsigned long)&what, #what }

#endif
