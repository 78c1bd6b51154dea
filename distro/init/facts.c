/*
 * The first program of user mode: it inserts the module of the file /facts.ko, takes it away again, and switches the machine
 * off.
 */

#include "calls.h"

#define O_RDONLY 0

void _start(void)
{
	long file = call(OPEN, (long)"/facts.ko", O_RDONLY, 0);

	if (call(FINIT_MODULE, file, (long)"", 0))
		say("facts: the module was refused\n");
	else if (call(DELETE_MODULE, (long)"facts", 0, 0))
		say("facts: the module stays\n");
	power_off();
}
