/* The kernel's own lines in its log. What modules call is printk, in lib. */
#include <linux/kernel.h>

/* Always collects PRINTK_ARGS arguments: those that the format does not name are never read. */
int klog(const char *fmt, ...)
{
	unsigned long args[PRINTK_ARGS];
	va_list list;

	va_start(list, fmt);
	for (int i = 0; i < PRINTK_ARGS; i++)
		args[i] = va_arg(list, unsigned long);
	va_end(list);
	return sim_printk(fmt, args);
}
