/* What user tasks do. All of this runs in user mode, and reaches what lies in the sections .user alone. */
#include <linux/file.h>
#include <linux/guest.h>
#include <linux/user.h>
#include <linux/workload.h>
#include <asm/syscall.h>

/* Not zero: user_busy and user_works are to end. Written by the simulator. */
int user_over __user_data;

char user_stacks[USER_STACKS][USER_STACK_SIZE] __user_bss __aligned(4096);

__user_text void user_main(unsigned long (*fn)(unsigned long), unsigned long arg)
{
	user_syscall(SYS_EXIT, fn(arg), 0);
}

/* Computes, and never asks the kernel for anything. */
__user_text unsigned long user_busy(unsigned long arg __unused)
{
	unsigned long rest = 1;

	while (!READ_VOLATILE(USER_DATA(user_over)))
		for (int i = 0; i < 8; i++)
			rest = divide_on(rest);
	return rest;
}

/* n calls of SYS_WORK; returns the sum of the results. */
__user_text unsigned long user_calls(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += user_syscall(SYS_WORK, 3, 4);
	return sum;
}

struct user_work user_work __user_data;

/* The same as a loop of bench.c does, by system calls. */
__user_text unsigned long user_loop(unsigned long at)
{
	struct user_work *w = (struct user_work *)at;
	unsigned long sum = 0;

	for (unsigned long i = 0; i < w->n; i++)
		sum += user_syscall(SYS_WORK, w->a0, w->a1);
	w->sum = sum;
	return 0;
}

/*
 * Calls SYS_WORK until user_over; returns how often, or -1 when it once gave something else than wanted. The
 * time between two calls changes. Otherwise calls may fall into step with the ticks, so that none of these
 * ever finds user mode.
 */
__user_text unsigned long user_works(unsigned long want)
{
	unsigned long n = 0, wrong = 0, rest = 1;

	for (; !READ_VOLATILE(USER_DATA(user_over)); n++) {
		for (unsigned long i = rest & 15; i; i--)
			rest = divide_on(rest);
		rest = divide_on(rest);
		wrong |= user_syscall(SYS_WORK, 5, 77) ^ want;
	}
	return wrong ? -1UL : n;
}

/* Rounds of computing and sleeping; returns their number. */
__user_text unsigned long user_sleeps(unsigned long n)
{
	unsigned long rest = 1;

	for (unsigned long i = 0; i < n; i++) {
		for (int j = 0; j < 100; j++)
			rest = divide_on(rest);
		user_syscall(SYS_SLEEP, 1 + (rest & 1), 0);
	}
	return n;
}

/* Calls the function of a struct race_caller again and again. */
__user_text unsigned long user_race(unsigned long caller)
{
	for (;;)
		user_syscall(SYS_RACE, caller, 0);
	return 0;
}

/* What the kernel answers to a number that is no system call's. */
__user_text unsigned long user_asks(unsigned long nr)
{
	return user_syscall(nr, 0, 0);
}

/* Reads, writes, or executes at an address. */
__user_text unsigned long user_reads(unsigned long at)
{
	return READ_VOLATILE(*(unsigned long *)at);
}

__user_text unsigned long user_writes(unsigned long at)
{
	WRITE_VOLATILE(*(unsigned long *)at, 0);
	return 0;
}

__user_text unsigned long user_jumps(unsigned long at)
{
	return ((unsigned long (*)(void))at)();
}

/* Switches interrupts off, which only the kernel may. */
__user_text unsigned long user_disables(unsigned long arg)
{
	local_irq_disable();
	return arg;
}

#define user_file(c) user_syscall(SYS_FILE, (unsigned long)(c), 0)

/* One call on a file. */
__user_text unsigned long user_calls_file(unsigned long call)
{
	return user_file(call);
}

/* What user_reads_file works on, and room for a call and what it names. */
struct file_reader user_reader __user_data;
struct file_call user_file_call __user_data;
char user_file_text[128] __user_data;

/* Reads a file until it is told to end, and sleeps between two rounds. */
__user_text unsigned long user_reads_file(unsigned long at)
{
	struct file_reader *r = (struct file_reader *)at;
	struct file_call c;

	while (!READ_VOLATILE(r->over) && READ_FILE(r, &c, user_file))
		user_syscall(SYS_SLEEP, 1, 0);
	return r->rounds;
}
