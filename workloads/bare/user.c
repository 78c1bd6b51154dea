/*
 * User mode: system calls, interrupts by the timer, and giving way on the return from one. There are
 * two tasks, that take turns.
 */
#include <linux/cpu.h>
#include <linux/sched.h>
#include <linux/user.h>
#include <linux/workload.h>
#include "code.h"

#define TICKS 5		/* of the timer in user mode, before the task is told to end */
#define PERIOD 1000000	/* bus clocks between them */

void say(const char *what, unsigned long v);
unsigned long user_calls(unsigned long n), user_busy(unsigned long arg), user_asks(unsigned long nr);
extern char user_stacks[USER_STACKS][USER_STACK_SIZE];
extern int user_over;
extern struct task_struct init_task;

static struct task_struct task;
static char stack[THREAD_SIZE] __aligned(THREAD_SIZE);
static unsigned long ticks, turns;
static unsigned long inside;	/* ticks in the kernel on behalf of the task: each may preempt it once more */

struct task_struct *sched_pick(struct task_struct *prev, unsigned long irqs_off)
{
	if (irqs_off)
		panic_at("schedule() with interrupts off, by pid", prev->pid);
	if (prev == &init_task && task.stack && task.state != TASK_DEAD) {
		turns++;
		return &task;
	}
	return prev == &task ? &init_task : prev;
}

void sched_tick(unsigned long user)
{
	if (!user) {
		inside += current == &task;
		return;
	}
	/* A late one may come together with the next: both preempt the task once. */
	if (need_resched())
		return;
	ticks++;
	current_thread_info()->flags |= _TIF_NEED_RESCHED;
}

/* Runs fn(arg) in user mode and returns its exit code. */
static int run(unsigned long (*fn)(unsigned long), unsigned long arg)
{
	struct user_start *start = (struct user_start *)FAR(user_stacks[1]) - 1;

	*start = (struct user_start){ .fn = (unsigned long)fn, .arg = arg };
	task = (struct task_struct){ .pid = 2, .comm = "user" };
	kthread_setup(&task, stack, user_thread, (unsigned long)start);
	while (task.state != TASK_DEAD) {
		*FAR(user_over) = ticks >= TICKS;
		schedule();
	}
	return task.exit_code;
}

static void expect(const char *what, long got, long want)
{
	say(what, got);
	if (got != want)
		panic_at("wanted", want);
}

void try_user(void)
{
	user_init(0);
	expect("system calls", run(user_calls, 10), (int)(10 * bench_target(3, 4)));
	expect("no such system call", run(user_asks, 1000), -38);
	turns = 0;
	timer_start(PERIOD, 1);
	run(user_busy, 0);
	timer_stop();
	say("ticks in user mode", ticks);	/* more on a slow host */
	say("turns", turns);
	if (turns <= ticks || turns > ticks + 1 + inside)
		panic_at("wanted", ticks + 1);
}
