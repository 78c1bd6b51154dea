/* CPUs that are busy, and tasks that begin together. */
#include <linux/guest.h>
#include <linux/workload.h>

/* Not zero: busy threads are to end. Written by the simulator. */
int busy_over;

/*
 * Computes until busy_over, and gives way when another task is to run. It checks after every eight
 * divisions, each of which depends on the one before.
 */
__many unsigned long busy_thread(unsigned long arg __unused)
{
	unsigned long rest = 1;

	while (!READ_VOLATILE(busy_over)) {
		for (int i = 0; i < 8; i++)
			rest = divide_on(rest);
		if (unlikely(need_resched()))
			schedule();
	}
	return rest;
}

/* Computes for a while: a divisions, one after the other. */
__many unsigned long divide_work(unsigned long a, unsigned long b)
{
	unsigned long rest = b & 1;

	for (unsigned long i = 0; i < a; i++)
		rest = divide_on(rest);
	return rest;
}

/* Does nothing: while a CPU is in it, the simulated time of the others reaches its own. */
__many void catch_up(void)
{
}

static unsigned long barrier_arrived ____cacheline_aligned;

/* Returns when it has been called n times in all, on as many CPUs; then it can be used again. */
__many unsigned long barrier_wait(unsigned long n)
{
	unsigned long mine = atomic_long_fetch_add(1, &barrier_arrived);

	mine = (mine / n + 1) * n;
	while (READ_VOLATILE(barrier_arrived) < mine)
		cpu_relax();
	return mine;
}
