/* Changing code that other CPUs may be executing. Breakpoints and branches are one word: each is one store. */
#ifndef _ASM_TEXT_H
#define _ASM_TEXT_H

#include <linux/compiler.h>

/* Makes code visible to fetching that has been stored from start to end. */
void flush_icache_range(unsigned long start, unsigned long end);
/* Stores n bytes, whole words, over code and makes them visible. */
void *text_poke(void *addr, const void *src, unsigned long n);
void text_poke_patch(void *addr, const void *src, unsigned long n, unsigned long patch, unsigned long step);
/* On every CPU when it leaves a stop of the machine: none goes on with code it fetched before. */
void text_poke_leave_stop(void);

/* Number of the patch that the machine is stopped for, 0 for none; written by the simulator. */
extern int text_poke_stopped;

#endif
