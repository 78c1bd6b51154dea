/*
 * Tasks that call a function again and again while it is patched, and handlers that one probe each
 * calls. The simulator watches them: race_returned ends a call, and the calls of race_handler_ and
 * race_ret_ before it are that call's.
 */
#include <linux/kprobes.h>
#include <linux/guest.h>
#include <linux/workload.h>

/* The call has returned value. */
__used noinline void race_returned(struct race_caller *c, unsigned long value __unused)
{
	c->calls++;
	barrier();
}

__used unsigned long race_call(unsigned long arg)
{
	struct race_caller *c = (struct race_caller *)arg;

	for (;;) {
		unsigned long pause;

		while ((pause = READ_VOLATILE(c->pause))) {
			WRITE_VOLATILE(c->paused, pause);
			schedule();
		}
		race_returned(c, c->fn(c->a0, c->a1));
		/* A task that never gives way of its own will would hold up grace periods of tasks. */
		if (c->calls & 1)
			cond_resched();
		else
			schedule();
	}
	return 0;
}

/* Lets other tasks run in the middle. */
__workload unsigned long race_sleeper(unsigned long a, unsigned long b)
{
	schedule();
	return a * 3 + b;
}

#define RACE_HANDLERS(n)							\
	__handler int race_handler_##n(struct kprobe *p __unused,		\
				       struct pt_regs *regs __unused)		\
	{									\
		return 0;							\
	}									\
	__handler int race_ret_##n(struct kretprobe_instance *ri __unused,	\
				   struct pt_regs *regs __unused)		\
	{									\
		return 0;							\
	}

RACE_HANDLERS(0)
RACE_HANDLERS(1)
RACE_HANDLERS(2)
RACE_HANDLERS(3)
