/* Sets a mark from a shell: `kprobesim mark begin` and `kprobesim mark end`. */

#include "calls.h"
#include "mark.h"

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

__attribute__((noreturn, used)) void begin(long *stack)
{
	char **arguments = (char **)(stack + 1);
	int status = 0;

	if (stack[0] == 3 && same(arguments[1], "mark") && same(arguments[2], "begin")) {
		KPROBESIM_MARK(1);
	} else if (stack[0] == 3 && same(arguments[1], "mark") && same(arguments[2], "end")) {
		KPROBESIM_MARK(2);
	} else {
		say("kprobesim: write `kprobesim mark begin` or `kprobesim mark end`\n");
		status = 2;
	}
	for (;;)
		call(EXIT_GROUP, status, 0, 0);
}

START;
