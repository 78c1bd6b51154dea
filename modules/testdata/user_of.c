/* A module that uses another one. */
#include "module.h"

unsigned long module_work(unsigned long n);
extern unsigned long hits;

unsigned long used(unsigned long n)
{
	return module_work(n) + hits;
}

static void leave(void)
{
}

module_exit(leave);
