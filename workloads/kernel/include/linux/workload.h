/*
 * Functions worth probing, the loops that call them, and handlers. Each probed function takes two
 * numbers and returns one that depends on nothing else, so that a probed run can be compared with
 * an unprobed one.
 */
#ifndef _LINUX_WORKLOAD_H
#define _LINUX_WORKLOAD_H

#include <linux/kernel.h>

typedef unsigned long (*bench_fn)(unsigned long a, unsigned long b);

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

/* Puts every table a probed function uses into its first state; called once before use. */
void work_init(void);

#endif
