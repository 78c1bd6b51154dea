/* The first program of user mode: it says that it runs, and switches the machine off. */

#include "calls.h"

void _start(void)
{
	say("init: running\n");
	power_off();
}
