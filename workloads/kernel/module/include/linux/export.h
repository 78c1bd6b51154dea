/*
 * Functions and variables that other modules may use: the section __ksymtab is a table of their addresses and
 * names, in a module and in the kernel alike. Licences are not told apart.
 */
#ifndef _MODULE_LINUX_EXPORT_H
#define _MODULE_LINUX_EXPORT_H

#include <linux/compiler.h>

struct kernel_symbol {
	unsigned long value;
	const char *name;
};

#define EXPORT_SYMBOL(symbol)							\
	static const char ksymtab_name_##symbol[] = #symbol;			\
	static const struct kernel_symbol __used __section("__ksymtab") __ksymtab_##symbol = { \
		(unsigned long)&symbol, ksymtab_name_##symbol			\
	}
#define EXPORT_SYMBOL_GPL(symbol) EXPORT_SYMBOL(symbol)

#endif
