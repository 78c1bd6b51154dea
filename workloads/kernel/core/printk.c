/* The kernel's log. */
#include <linux/kernel.h>

/* Collects more arguments than there may be: what the format does not name is not looked at. */
int printk(const char *fmt, ...)
{
	unsigned long args[PRINTK_ARGS];
	va_list list;

	va_start(list, fmt);
	for (int i = 0; i < PRINTK_ARGS; i++)
		args[i] = va_arg(list, unsigned long);
	va_end(list);
	return sim_printk(fmt, args);
}
