/*
 * The first program of user mode: it inserts the module of the file /module.ko with the parameters of /parameters, takes it away
 * again by the name in /name, and switches the machine off.
 */

#include "calls.h"

#define O_RDONLY 0

static char name[64], parameters[512];

/* Leaves a zero behind the text. */
static void read_text(const char *path, char *to, long room)
{
	call(READ, call(OPEN, (long)path, O_RDONLY, 0), (long)to, room - 1);
}

void _start(void)
{
	long file = call(OPEN, (long)"/module.ko", O_RDONLY, 0);

	read_text("/name", name, sizeof(name));
	read_text("/parameters", parameters, sizeof(parameters));
	if (call(FINIT_MODULE, file, (long)parameters, 0))
		say("insert: the module was refused\n");
	else if (call(DELETE_MODULE, (long)name, 0, 0))
		say("insert: the module stays\n");
	power_off();
}
