/* Names of addresses. */
#include "library.h"
#include <linux/kallsyms.h>

int sprint_symbol(char *to, unsigned long address)
{
	int length = sim_symbol(to, address, SYMBOL_FULL);

	return length ? length : sprintf(to, "0x%lx", address);
}

int sprint_symbol_no_offset(char *to, unsigned long address)
{
	int length = sim_symbol(to, address, SYMBOL_NAME);

	return length ? length : sprintf(to, "0x%lx", address);
}

/* The format has one %s. */
void __print_symbol(const char *fmt, unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol(name, address);
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	printk(fmt, name);
}

#if ERA_LOOKS_UP
EXPORT_SYMBOL(kallsyms_lookup_name);
#endif
EXPORT_SYMBOL(sprint_symbol);
EXPORT_SYMBOL(sprint_symbol_no_offset);
EXPORT_SYMBOL(__print_symbol);
