/*
 * What modules print. A line is built on the stack and handed over whole, without a lock, so that a handler may
 * print while its CPU is in the middle of printing.
 */
#include "library.h"

#define LINE_MOST 256
#define LEVEL_DEFAULT 4		/* of a line that names none */
#define LEVEL_CONTINUED (-1)

/* The level at the start of a line, and how many characters it takes. */
static int level_of(const char *line, int *level)
{
	char c;

	*level = LEVEL_DEFAULT;
	if (line[0] == '\001')
		c = line[1];
	else if (line[0] == '<' && line[1] && line[2] == '>')
		c = line[1];
	else
		return 0;
	if (c >= '0' && c <= '7')
		*level = c - '0';
	else if (c == 'c')
		*level = LEVEL_CONTINUED;
	else if (c != 'd')
		return 0;
	return line[0] == '\001' ? 2 : 3;
}

int vprintk(const char *fmt, va_list args)
{
	char line[LINE_MOST];
	int length = vsnprintf(line, sizeof(line), fmt, args), level, skip;

	if (length >= LINE_MOST)
		length = LINE_MOST - 1;
	skip = level_of(line, &level);
	/* Kernels before 3.6 know what continues a line by the level that is missing. */
	if (!skip && ERA < 2012)
		level = LEVEL_CONTINUED;
	sim_console(level, line + skip, length - skip);
	return length - skip;
}

int printk(const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vprintk(fmt, args);
	va_end(args);
	return length;
}

/* Text of a panic is kept: there is no way back. */
void panic(const char *fmt, ...)
{
	static char text[LINE_MOST];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sim_panic(text);
}

void warn_at(const char *file, int line, const char *function)
{
	printk(KERN_WARNING "WARNING: at %s:%d %s()\n", file, line, function);
	dump_stack();
}

EXPORT_SYMBOL(vprintk);
EXPORT_SYMBOL(printk);
EXPORT_SYMBOL(panic);
EXPORT_SYMBOL(warn_at);
