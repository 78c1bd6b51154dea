/*
 * Loops for several CPUs at once, with data of their own and with data that they share. All but loop_busy
 * let other tasks run by cond_resched(). All return numbers that do not depend on the order of tasks.
 */
#include <linux/guest.h>
#include <linux/workload.h>

/* Counted up by loop_shared, and by each CPU for itself by loop_counted. */
unsigned long many_shared ____cacheline_aligned;
DEFINE_PER_CPU(unsigned long, many_counted);
/* Calls of tick_work on each CPU. */
DEFINE_PER_CPU(unsigned long, many_ticks);

/* n calls of fn(a, b), whose sum it returns. */
__many unsigned long loop_private(bench_fn fn, unsigned long n, unsigned long a, unsigned long b)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++) {
		sum += fn(a, b);
		cond_resched();
	}
	return sum;
}

/* A counter of all CPUs, counted up n times. */
__many unsigned long loop_shared(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		atomic_long_add(1, &many_shared);
		cond_resched();
	}
	return n;
}

/* A counter of each CPU, counted up n times, on whichever CPU the task is. */
__many unsigned long loop_counted(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		percpu_add(many_counted, 1);
		cond_resched();
	}
	return n;
}

/* Never gives way by itself: only interrupts and preemption let other code run. */
__many unsigned long loop_busy(unsigned long n)
{
	unsigned long x = n;

	for (unsigned long i = 0; i < n; i++)
		x = (x ^ i) * 3 + 1;
	return x;
}

/* What tick_hook may be set to: a function that is called, and can be probed, in an interrupt. */
__many unsigned long tick_work(unsigned long a, unsigned long b)
{
	percpu_add(many_ticks, 1);
	return a ^ b;
}

/* Interrupts this CPU every so many bus clocks, or no more. */
__many void storm_start(unsigned long period)
{
	tick_hook = tick_work;
	timer_start(period, 1);
}

__many void storm_stop(void)
{
	timer_stop();
}

/* Sleeps in the middle of a function, for b jiffies. */
__many unsigned long sleep_work(unsigned long a, unsigned long b)
{
	schedule_timeout(b);
	return a + b;
}

/* n rounds of sleeping some jiffies and working; returns how often it woke on another CPU. */
__many unsigned long loop_sleeping(unsigned long n, unsigned long jiffies, unsigned long work)
{
	unsigned long moved = 0, cpu = smp_processor_id();

	for (unsigned long i = 0; i < n; i++) {
		schedule_timeout(jiffies);
		if (smp_processor_id() != cpu)
			moved++;
		cpu = smp_processor_id();
		loop_busy(work);
	}
	return moved;
}

#define RING 16

static DEFINE_SPINLOCK(ring_lock);
static struct {
	unsigned long head, tail;	/* taken from and put to, modulo RING */
	unsigned long slot[RING];
} ring ____cacheline_aligned;

/* One step of the queue under its lock; zero when it is full. */
static __many int ring_put(unsigned long v)
{
	int ok;

	spin_lock(&ring_lock);
	ok = ring.tail - ring.head < RING;
	if (ok)
		ring.slot[ring.tail++ % RING] = v;
	spin_unlock(&ring_lock);
	return ok;
}

/* Zero when it is empty. */
static __many int ring_get(unsigned long *v)
{
	int ok;

	spin_lock(&ring_lock);
	ok = ring.tail != ring.head;
	if (ok)
		*v = ring.slot[ring.head++ % RING];
	spin_unlock(&ring_lock);
	return ok;
}

/* Gives up the CPU when another task waits for it, also before its time slice is over. */
static __always_inline void wait_a_little(void)
{
	cpu_relax();
	if (!cond_resched())
		schedule();
}

/* Puts the numbers 1 to n into the queue. */
__many unsigned long produce(unsigned long n)
{
	for (unsigned long i = 1; i <= n; i++)
		while (!ring_put(i))
			wait_a_little();
	return n;
}

/* Takes n numbers out of the queue and returns their sum. */
__many unsigned long consume(unsigned long n)
{
	unsigned long sum = 0, v;

	for (unsigned long i = 0; i < n; i++) {
		while (!ring_get(&v))
			wait_a_little();
		sum += v;
	}
	return sum;
}
