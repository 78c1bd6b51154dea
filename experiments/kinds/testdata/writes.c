/* A program without a library that writes 20 times between marks. */

#include "calls.h"
#include "mark.h"

void _start(void)
{
	static char line[] = "line a\n";

	KPROBESIM_MARK(1);
	for (; line[5] < 'a' + 20; line[5]++)
		say(line);
	KPROBESIM_MARK(2);
	call(EXIT_GROUP, 0, 0, 0);
	for (;;)
		;
}
