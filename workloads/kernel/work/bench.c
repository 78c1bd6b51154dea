/* Loops that drive a probed function, and the function that overhead is measured on. */
#include <linux/workload.h>

static unsigned long bench_state[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };

/*
 * The usual target: an ordinary small function without calls or loops. Its first instructions can
 * be copied elsewhere and nothing jumps back among them (a test holds the image to this), so
 * every kind of probe is possible.
 */
__workload unsigned long bench_target(unsigned long a, unsigned long b)
{
	unsigned long mixed = a + b * 4 + 17;
	unsigned long slot = (mixed >> 3) & 7;

	mixed ^= bench_state[slot];
	if (mixed & 1)
		mixed += b;
	return mixed;
}

__workload unsigned long bench_loop(bench_fn fn, unsigned long n, unsigned long a0,
				    unsigned long a1)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += fn(a0, a1);
	return sum;
}

__workload unsigned long bench_loop_roi(bench_fn fn, unsigned long n, unsigned long a0,
					unsigned long a1)
{
	unsigned long sum = 0;

	sim_roi(1);
	for (unsigned long i = 0; i < n; i++)
		sum += fn(a0, a1);
	sim_roi(0);
	return sum;
}
