/*
 * The first program of user mode that asks the kernel for probes. It reads addresses from the file /sites, asks for
 * a trace event at each, and prints the error of each; then it enables them all, waits until the kernel has had
 * time to replace breakpoints by jumps, and prints the kernel's list of its probes.
 */

#include "calls.h"

#define O_RDONLY 0
#define O_WRONLY 1
#define O_APPEND 02000

enum { LINE = 512, FILE_SIZE = 1 << 20 };

static char file[FILE_SIZE];
static unsigned long accepted; /* places */

static char *append(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	*to = 0;
	return to;
}

static char *append_number(char *to, unsigned long n)
{
	if (n >= 10)
		to = append_number(to, n / 10);
	*to++ = (char)('0' + n % 10);
	*to = 0;
	return to;
}

/* Reads a file of the kernel or the initial file system as a string. */
static long read_file(const char *name)
{
	long fd = call(OPEN, (long)name, O_RDONLY, 0), n = 0, more;

	if (fd < 0)
		return fd;
	while ((more = call(READ, fd, (long)(file + n), FILE_SIZE - 1 - n)) > 0)
		n += more;
	call(CLOSE, fd, 0, 0);
	file[n] = 0;
	return n;
}

static long write_file(const char *name, const char *text)
{
	long fd = call(OPEN, (long)name, O_WRONLY | O_APPEND, 0), result;

	if (fd < 0)
		return fd;
	result = call(WRITE, fd, (long)text, length(text));
	call(CLOSE, fd, 0, 0);
	return result;
}

/* Reports what has failed, with the error as a positive number. */
static void failed(const char *what, const char *which, long result)
{
	static char said[LINE];
	char *to;

	if (result >= 0)
		return;
	to = append(append(append(append(said, "ask: failed "), what), which), ": error ");
	append(append_number(to, (unsigned long)-result), "\n");
	say(said);
}

static void mount(const char *type, const char *where)
{
	failed("to make ", where, call(MKDIR, (long)where, 0755, 0));
	failed("to mount ", type, call5(MOUNT, (long)type, (long)where, (long)type, 0, 0));
}

/* Calls f for each line of the file that was read, which it changes. */
static void each_line(void (*f)(const char *line, unsigned long number))
{
	unsigned long number = 0;

	for (char *at = file; *at;) {
		char *line = at;

		while (*at && *at != '\n')
			at++;
		if (*at)
			*at++ = 0;
		f(line, number++);
	}
}

static void ask_for(const char *place, unsigned long number)
{
	static char order[LINE], said[LINE];
	char *to = append_number(append(order, "p:ask/s"), number);
	long result;

	append(append(to, " "), place);
	result = write_file("/trace/kprobe_events", order);
	accepted += result >= 0;
	to = append(append(append(said, "ask: place "), place), " ");
	to = append_number(to, result < 0 ? (unsigned long)-result : 0);
	append(to, "\n");
	say(said);
}

static void show(const char *line, unsigned long number)
{
	(void)number;
	say("ask: list ");
	say(line);
	say("\n");
}

void _start(void)
{
	static const struct {
		long seconds, nanoseconds;
	} wait = { 3, 0 };

	mount("tracefs", "/trace");
	mount("debugfs", "/debug");
	failed("to read ", "/sites", read_file("/sites"));
	each_line(ask_for);
	if (accepted)
		failed("to write ", "/trace/events/ask/enable", write_file("/trace/events/ask/enable", "1"));
	call(NANOSLEEP, (long)&wait, 0, 0);
	failed("to read ", "/debug/kprobes/list", read_file("/debug/kprobes/list"));
	each_line(show);
	say("ask: done\n");
	power_off();
}
