/* What probes of user space are tried on, and a caller that does its duty by pages that come in. */
#include <linux/guest.h>
#include <linux/user.h>
#include <linux/userprobes.h>
#include <linux/workload.h>
#include <asm/syscall.h>

#ifdef USERPROBES
/* Written by user_mix: each task has its own copy behind the first store. */
unsigned long user_mixed __user_data = 3;

/* Bits of all kinds: arithmetic, loads and stores, a loop, branches, calls. */
__user_text unsigned long user_leaf(unsigned long a)
{
	return (a << 3) ^ (a >> 2) ^ 0x55;
}

__user_text unsigned long user_mix(unsigned long a, unsigned long b)
{
	unsigned long part[4] = { a, b, a ^ b, a + b }, sum = 0;

	for (int i = 0; i < 4; i++) {
		if (part[i] & 1)
			sum += user_leaf(part[i]);
		else
			sum -= part[i] * 3;
		WRITE_VOLATILE(part[3 - i], READ_VOLATILE(part[3 - i]) + sum);
	}
	WRITE_VOLATILE(USER_DATA(user_mixed), READ_VOLATILE(USER_DATA(user_mixed)) + 1);
	return sum ^ part[0];
}

/* n calls of user_mix; the sum of its results. */
__user_text unsigned long user_mixes(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += user_mix(i, 2 * i + 1);
	return sum & 0x7fffffff;
}

/* Does nothing but return: what is measured of a hit in it is the hit. */
__user_text unsigned long user_target(unsigned long a)
{
	asm volatile("" : "+r"(a));
	return a + 1;
}

/* n calls of user_target. */
__user_text unsigned long user_targets(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum = user_target(sum);
	return sum;
}

/* The same, with all translations of user space dropped before each call. */
__user_text unsigned long user_cold_targets(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++) {
		user_syscall(SYS_FORGET, 0, 0);
		sum = user_target(sum);
	}
	return sum;
}

/* Writes a word of its own, which may be text: gets a copy of the page. Returns what the word was. */
__user_text unsigned long user_touches(unsigned long at)
{
	unsigned long was = READ_VOLATILE(*(unsigned long *)at);

	WRITE_VOLATILE(*(unsigned long *)at, was);
	return was & 0x7fffffff;
}

/* Touches text, and then does what user_mixes does. */
__user_text unsigned long user_touches_and_mixes(unsigned long at)
{
	user_touches(at);
	return user_mixes(20);
}

#define WATCHED 128

/*
 * The probes of a caller, which it inserts into each page that comes in, and how often it has done so. The simulator is
 * that caller; its user_page_hook is user_page_came.
 */
struct kprobe *user_watched[WATCHED];
unsigned long user_reinserted;

unsigned long user_hits, user_posts, user_faults, user_returns;
unsigned long user_seen_ip, user_seen_sp, user_seen_value, user_seen_argument;

/* Handlers: they see the registers of user mode. */
__handler __used int user_probe_pre(struct kprobe *p __unused, struct pt_regs *regs)
{
	user_hits++;
	user_seen_ip = instruction_pointer(regs);
	user_seen_sp = user_stack_pointer(regs);
	user_seen_argument = regs_first_argument(regs);
	return 0;
}

__handler __used int user_probe_empty(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

__handler __used void user_probe_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
				      unsigned long flags __unused)
{
	user_posts++;
}

__handler __used int user_probe_fault(struct kprobe *p __unused, struct pt_regs *regs __unused, int trap __unused)
{
	user_faults++;
	return 0;
}

__handler __used int user_probe_return(struct kretprobe_instance *ri __unused, struct pt_regs *regs)
{
	user_returns++;
	user_seen_value = regs_return_value(regs);
	return 0;
}

__handler __used int user_return_empty(struct kretprobe_instance *ri __unused, struct pt_regs *regs __unused)
{
	return 0;
}
/* The call has returned value. The simulator watches, as it does race_returned. */
__user_text void user_race_returned(unsigned long unused __unused, unsigned long value __unused)
{
	asm volatile("" : : : "memory");
}

#define WRITE_AFTER 4	/* calls between two stores into text */

/* Calls user_mix for ever. Writes a word of its text now and then if at is the word's address, and gets a copy. */
__user_text unsigned long user_race_ever(unsigned long at)
{
	for (unsigned long n = 1;; n++) {
		user_race_returned(0, user_mix(3, 4));
		if (at && n % WRITE_AFTER == 0)
			user_touches(at);
	}
	return 0;
}

/* n calls, and the task ends. */
__user_text unsigned long user_race_some(unsigned long n)
{
	while (n--)
		user_race_returned(0, user_mix(3, 4));
	return 0;
}
#endif
