/* Times of a loop in ticks of the time-stamp counter, and how long a tick is. */
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#define MOST_REPEATS 255

/* All loops run on one processor. */
static void stay_here(void)
{
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
}

static void go_anywhere(void)
{
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static u64 times[MOST_REPEATS];

static int by_time(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Leaves the sorted times of the repeats in times. The first run of the loop warms caches and predictors. */
static void time_loop(u64 (*loop)(unsigned int n), unsigned int n)
{
	unsigned long flags;
	unsigned int i;

	for (i = 0; i <= repeats; i++) {
		u64 took;

		local_irq_save(flags);
		took = loop(n);
		local_irq_restore(flags);
		if (i)
			times[i - 1] = took;
		cond_resched();
	}
	sort(times, repeats, sizeof(times[0]), by_time, NULL);
}

/* The least time, the quartiles and the longest. */
struct spread {
	u64 of[5];
};

static struct spread spread_of_times(void)
{
	struct spread s;
	unsigned int i;

	for (i = 0; i < 5; i++)
		s.of[i] = times[(repeats - 1) * i / 4];
	return s;
}

#define SPREAD "%llu,%llu,%llu,%llu,%llu"
#define IN(s) (s).of[0], (s).of[1], (s).of[2], (s).of[3], (s).of[4]

/* Each addition waits for the one before it, so that it takes a cycle of the core. */
#define ADDS 100
#define ADD_LOOPS 1000
static noinline notrace u64 loop_adds(unsigned int n)
{
	u64 begin = rdtsc_ordered();
	unsigned int x = 0;

	while (n--)
		asm volatile(".rept " __stringify(ADDS) "\n\tadd %1, %0\n.endr" : "+r" (x) : "r" (n));
	return rdtsc_ordered() - begin;
}

static void say_clock(void)
{
	struct spread s;

	time_loop(loop_adds, ADD_LOOPS);
	s = spread_of_times();
	say("clock adds=%u ticks=" SPREAD, ADDS * ADD_LOOPS, IN(s));
}
