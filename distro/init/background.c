/*
 * Starts a command that goes on when this program has ended: `kprobesim-background PATH ARGUMENT...`. The command prints to
 * /.background. It finds the file systems by which tools attach programs of BPF where they look for them.
 */

#include "calls.h"

#define O_RDONLY 0
#define O_WRONLY 1
#define O_CREATE 0100
#define O_APPEND 02000

static void mount(const char *type, const char *where)
{
	call5(MOUNT, (long)type, (long)where, (long)type, 0, 0);
}

static void background(char **arguments, char **variables)
{
	call(SETSID, 0, 0, 0);
	call(DUP2, call(OPEN, (long)"/dev/null", O_RDONLY, 0), 0, 0);
	call(DUP2, call(OPEN, (long)"/.background", O_WRONLY | O_CREATE | O_APPEND, 0644), 1, 0);
	call(DUP2, 1, 2, 0);
	call(EXECVE, (long)arguments[0], (long)arguments, (long)variables);
	say("the kernel does not execute it\n");
}

/* Behind the arguments are a zero, and the addresses of variables. */
__attribute__((noreturn, used)) void begin(long *stack)
{
	char **arguments = (char **)(stack + 1);
	long child = -1;

	if (stack[0] > 1) {
		mount("tracefs", "/sys/kernel/tracing");
		mount("debugfs", "/sys/kernel/debug");
		mount("bpf", "/sys/fs/bpf");
		child = call(FORK, 0, 0, 0);
		if (!child)
			background(arguments + 1, arguments + stack[0] + 1);
	}
	for (;;)
		call(EXIT_GROUP, child < 0, 0, 0);
}

START;
