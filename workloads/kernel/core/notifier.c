/*
 * The chain of those who listen for exceptions. How many functions lie between an exception and its
 * listener is part of what a hit costs: kernels of 2005 walked the chain at once, those of 2006 by
 * one more function, those of 2010 by three, the innermost of which marks a reader of RCU.
 */
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>

static struct {
	spinlock_t adding;
	struct notifier_block *first;
} listeners;

#if ERA_CHAIN_CALLS == 0
#define ask_listeners offer_exception
#else
static
#endif
__dispatch int ask_listeners(unsigned long event, struct die_args *args)
{
	struct notifier_block *asked = READ_VOLATILE(listeners.first);
	int answer = NOTIFY_DONE;

	for (; asked && !(answer & NOTIFY_STOP_MASK); asked = READ_VOLATILE(asked->next))
		answer = asked->notifier_call(asked, event, args);
	return answer;
}

#if ERA_CHAIN_CALLS == 3
static __dispatch int ask_as_reader(unsigned long event, struct die_args *args)
{
	int answer;

	/* A reader of RCU is code that is not preempted. */
	preempt_disable();
	answer = ask_listeners(event, args);
	preempt_enable();
	return answer;
}

static __dispatch int offer_exception(unsigned long event, struct die_args *args)
{
	return ask_as_reader(event, args);
}

__dispatch int notify_die(enum die_val event, const char *str, struct pt_regs *regs, long err,
			  int trap, int sig)
{
	struct die_args args = { regs, str, err, trap, sig };

	return offer_exception(event, &args);
}
#elif ERA_CHAIN_CALLS == 1
__dispatch int offer_exception(unsigned long event, struct die_args *args)
{
	return ask_listeners(event, args);
}
#endif

int register_die_notifier(struct notifier_block *nb)
{
	struct notifier_block **place;
	unsigned long flags;

	spin_lock_irqsave(&listeners.adding, flags);
	for (place = &listeners.first; *place; place = &(*place)->next) {
		if ((*place)->priority < nb->priority)
			break;
	}
	nb->next = *place;
	WRITE_VOLATILE(*place, nb);
	spin_unlock_irqrestore(&listeners.adding, flags);
	return 0;
}
