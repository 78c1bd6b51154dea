/*
 * Loops for measuring how fast the simulator itself is. They need nothing of the kernel, so that
 * the same loops can run elsewhere for comparison.
 */
#include <linux/types.h>
#include <linux/compiler.h>
#include <asm/asm.h>

#define CHASE_BYTES (4UL << 20)
#define LINE 64
#define LINES (CHASE_BYTES / LINE)

unsigned long speed_alu(unsigned long n);
void speed_chase_init(unsigned long *table);
unsigned long speed_chase(unsigned long n, unsigned long *table);
unsigned long speed_calls(unsigned long n);

/* Integer arithmetic with branches that depend on the data: n rounds. */
__workload unsigned long speed_alu(unsigned long n)
{
	unsigned long x = (unsigned long)88172645463325252ULL, sum = 0;

	for (unsigned long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (x & 1)
			sum += x >> 3;
		else
			sum ^= x;
		if ((x & 0x70) == 0x20)
			sum = sum * 5 + 1;
	}
	return sum;
}

/* Links the lines of 4 MiB at table into one cycle in random order (Sattolo). */
__workload void speed_chase_init(unsigned long *table)
{
	const unsigned long step = LINE / sizeof(*table);
	unsigned long x = 2463534242UL;

	for (unsigned long i = 0; i < LINES; i++)
		table[i * step] = (unsigned long)&table[i * step];
	for (unsigned long i = LINES - 1; i > 0; i--) {
		unsigned long j, t;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		j = ((u64)(u32)x * i) >> 32;
		t = table[i * step];
		table[i * step] = table[j * step];
		table[j * step] = t;
	}
}

/* Follows n pointers; returns how far from the table's start it came to rest. */
__workload unsigned long speed_chase(unsigned long n, unsigned long *table)
{
	unsigned long *at = table;

	for (; n; n--)
		at = (unsigned long *)*at;
	return (unsigned long)at - (unsigned long)table;
}

static __workload unsigned long helper_add(unsigned long x, unsigned long i)
{
	return x + i;
}

static __workload unsigned long helper_rotate(unsigned long x)
{
	return (x << 7 | x >> (BITS_PER_LONG - 7)) ^ 0x9e3779b9;
}

static __workload unsigned long helper_pick(unsigned long x, unsigned long i)
{
	return i & 1 ? helper_rotate(x) : helper_add(x, 3);
}

/* Three or four calls of short functions a round. */
__workload unsigned long speed_calls(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) {
		x = helper_add(x, i);
		x = helper_pick(x, i);
	}
	return x;
}
