/*
 * Parameters of a module. Each has a record in the section __param, from which the loader knows its name, kind
 * and place. Permissions are read over.
 */
#ifndef _MODULE_LINUX_MODULEPARAM_H
#define _MODULE_LINUX_MODULEPARAM_H

#include <linux/init.h>
#include <linux/stringify.h>
#include <linux/types.h>

/* What a parameter's variable is. The loader knows the kinds by these numbers. */
enum param_kind {
	PARAM_SIGNED = 1,
	PARAM_UNSIGNED,
	PARAM_BOOL,		/* a bool, or an int of an old module: y, n, 1, 0, or the name alone */
	PARAM_INVBOOL,
	PARAM_CHARP,		/* char *, which the loader points to a copy of the text */
	PARAM_STRING,		/* an array of characters: the text and its end must fit */
};

struct kernel_param {
	const char *name;
	int kind;
	void *at;
	unsigned long size;		/* bytes of the variable, or of one element */
	unsigned long most;		/* elements of an array; 0: it is none */
	unsigned int *count;		/* of an array: how many were given; may be NULL */
};

#define PARAM_KIND_bool PARAM_BOOL
#define PARAM_KIND_invbool PARAM_INVBOOL
#define PARAM_KIND_byte PARAM_UNSIGNED
#define PARAM_KIND_short PARAM_SIGNED
#define PARAM_KIND_ushort PARAM_UNSIGNED
#define PARAM_KIND_int PARAM_SIGNED
#define PARAM_KIND_uint PARAM_UNSIGNED
#define PARAM_KIND_long PARAM_SIGNED
#define PARAM_KIND_ulong PARAM_UNSIGNED
#define PARAM_KIND_ullong PARAM_UNSIGNED
#define PARAM_KIND_charp PARAM_CHARP

#define PARAM_RECORD(title, kind, at, size, most, count)			\
	static const char param_name_##title[] = #title;			\
	static const struct kernel_param __used __section("__param")		\
	__aligned(sizeof(void *)) __param_##title = {				\
		param_name_##title, kind, at, size, most, count			\
	}

#define module_param_named(title, variable, type, perm)				\
	PARAM_RECORD(title, PARAM_KIND_##type, &(variable), sizeof(variable), 0, NULL)
#define module_param(variable, type, perm) module_param_named(variable, variable, type, perm)
#define module_param_string(title, text, length, perm)				\
	PARAM_RECORD(title, PARAM_STRING, text, length, 0, NULL)
#define module_param_array_named(title, array, type, number, perm)		\
	PARAM_RECORD(title, PARAM_KIND_##type, array, sizeof((array)[0]),	\
		     sizeof(array) / sizeof((array)[0]), (unsigned int *)(number))
#define module_param_array(array, type, number, perm)				\
	module_param_array_named(array, array, type, number, perm)

/* Lines of the form key=value, which tools print. */
#define MODULE_INFO(key, text)							\
	static const char MODULE_PASTE(modinfo_, __COUNTER__)[] __used		\
	__section(".modinfo") __aligned(1) = #key "=" text
#define MODULE_PARM_DESC(title, text) MODULE_INFO(parm, #title ":" text)

#endif
