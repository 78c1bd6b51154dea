/*
 * The table. Each line begins with the tag and the version of the form. The last line has the number of lines since the first
 * and a sum of their bytes, so that a log that was cut or changed is noticed.
 */
#include <linux/kernel.h>

#define TAG "kprobesim-measure 1"

static unsigned int said_lines;
static u32 said_sum;

static __printf(1, 2) void say(const char *format, ...)
{
	static char line[512];
	va_list list;
	const char *c;

	va_start(list, format);
	vscnprintf(line, sizeof(line), format, list);
	va_end(list);
	for (c = line; *c; c++)
		said_sum = said_sum * 31 + (u8)*c;
	said_sum = said_sum * 31 + '\n';
	said_lines++;
	pr_info(TAG " %s\n", line);
}

static void say_begin(void)
{
	said_lines = 0;
	said_sum = 0;
	pr_info(TAG " begin\n");
}

static void say_end(void)
{
	pr_info(TAG " end lines=%u sum=%08x\n", said_lines, said_sum);
}
