/*
 * The natives of the guest kernel for a machine without the simulator: sim_main runs the self-test, and
 * what is printed goes where the architecture's io.c says. Natives that the self-test never calls need no body here:
 * run.sh makes one for each.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/workload.h>
#include <asm/asm.h>
#include "io.h"

void selftest(void);

static void put(const char *s)
{
	for (; *s; s++)
		put_char(*s);
}

static void put_hex(unsigned long v)
{
	int shift = BITS_PER_LONG - 4;

	while (shift > 0 && !(v >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		put_char("0123456789abcdef"[v >> shift & 15]);
}

void say(const char *what, unsigned long v)
{
	put(what);
	put(" 0x");
	put_hex(v);
	put("\n");
}

void sim_panic(const char *msg)
{
	put("panic: ");
	put(msg);
	put("\n");
	end_run(1);
}

/* What run.sh makes for the other natives calls it. */
void no_such_native(const char *name)
{
	put(name);
	put(": ");
	sim_panic("the simulator has this function, and nobody else");
}

int sim_printk(const char *fmt, const unsigned long *args __unused)
{
	put(fmt);
	return 0;
}

void sim_roi(long on __unused) { }
unsigned long sim_cpu_online(unsigned long cpu __unused) { return 0; }
void kfree(const void *p __unused) { }
void text_poke_note(unsigned long patch __unused, unsigned long step __unused,
		    const void *addr __unused)
{
}
long sched_kick(void) { return -1; }
unsigned long sched_timer_count(void) { return 0; }
void schedule_timeout(unsigned long jiffies __unused) { }
void rcu_quiescent(void) { }
void rcu_tasks_quiescent(void) { }
void stop_wait(void) { }
void stop_state(unsigned long state __unused) { }
void stop_run(void) { }
unsigned long native_thread(unsigned long id __unused) { return 2; }

void sim_main(void)
{
	selftest();
	put("ok\n");
	end_run(0);
}
