/*
 * Functions worth probing, the loops that call them, and handlers. Each probed function takes two
 * numbers and returns one that depends on nothing else, so that a probed run can be compared with
 * an unprobed one.
 */
#ifndef _LINUX_WORKLOAD_H
#define _LINUX_WORKLOAD_H

#include "kernel.h"

typedef unsigned long (*bench_fn)(unsigned long a, unsigned long b);

/* The usual function to probe. */
unsigned long bench_target(unsigned long a, unsigned long b);

/* Calls fn(a0, a1) n times and returns the sum of the results. The _roi variant marks exactly
   the loop as region of interest. */
unsigned long bench_loop(bench_fn fn, unsigned long n, unsigned long a0, unsigned long a1);
unsigned long bench_loop_roi(bench_fn fn, unsigned long n, unsigned long a0, unsigned long a1);

/* Loops for several CPUs at once; work/many.c says what each does. */
unsigned long loop_private(bench_fn fn, unsigned long n, unsigned long a, unsigned long b);
unsigned long loop_shared(unsigned long n);
unsigned long loop_counted(unsigned long n);
unsigned long loop_busy(unsigned long n);
unsigned long loop_sleeping(unsigned long n, unsigned long jiffies, unsigned long work);
unsigned long sleep_work(unsigned long a, unsigned long b);
unsigned long tick_work(unsigned long a, unsigned long b);
void storm_start(unsigned long period);
void storm_stop(void);
unsigned long produce(unsigned long n);
unsigned long consume(unsigned long n);

/* A task that calls a function while it is patched (work/races.c). */
struct race_caller {
	bench_fn fn;
	unsigned long a0, a1;
	unsigned long pause;	/* set by the simulator: stay out of fn; the number of the pause */
	unsigned long paused;	/* out of fn since the pause of this number */
	unsigned long calls;
};

/* The call has returned value. */
void race_returned(struct race_caller *c, unsigned long value);

/*
 * The architecture has:
 *	divide_on(rest)			one long division, which depends on the one before
 *	copy_words(to, from, n)		n bytes, by an instruction or loop that moves words
 *	load_or_error(at, e, &err)	a word; when it faults, 0 and the constant e in err
 *	load_unmapped()			reads where no memory is, and goes on by the exception table
 *	raise_trap(number)		raises another exception and goes on in the same way
 *	jprobe_return_elsewhere()	jprobe_return(), with another stack pointer than one comes with
 */
#include <asm/workload.h>

/* Puts every table a probed function uses into its first state; called once before use. */
void work_init(void);

#endif
