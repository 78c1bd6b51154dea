/*
 * What every file of this folder begins with: the header of modules, which brings those of texts, numbers and
 * errors, tasks, and what the simulator does for these functions. None of that takes time beside the call.
 */
#ifndef _LIB_LIBRARY_H
#define _LIB_LIBRARY_H

#include <linux/module.h>
#include <linux/sched.h>

/* Adds a text to the console: a line of its own with this level, or with level -1 what continues the line. */
void sim_console(long level, const char *text, size_t length);
/* Nanoseconds since the machine started. */
void sim_clock(u64 *ns);
/* Ticks since then. */
unsigned long sim_jiffies(void);
/* The time at which this CPU is to be interrupted for the next callback, NULL for none; interrupts are off. Bus clocks
   until its timer is to interrupt, or 0 for nothing to do. */
unsigned long sim_timer(const u64 *ns);
/* Zeroed memory, or NULL. kfree gives it back. */
void *sim_alloc(size_t size);
/* How an address is named. */
enum symbol_form {
	SYMBOL_NAME,	/* the name */
	SYMBOL_FULL,	/* with offset, size and module */
	SYMBOL_CODE,	/* the same, of code alone */
};

/* Writes the name of what lies at an address and returns the length; 0 where nothing is known to lie. There must be
   room for KSYM_SYMBOL_LEN. A pointer to a function is as good as the address of its code. */
int sim_symbol(char *to, unsigned long address, enum symbol_form form);

#endif
