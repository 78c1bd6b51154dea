/* Notifier chains. The depth of calls is that of each era and part of what a hit costs. */
#include <linux/notifier.h>
#include <linux/rculist.h>

#if ERA_CHAIN_WRAPPED
static struct atomic_notifier_head die_chain;

/* Calls each block until one asks to stop; the result is the last block's. */
static __dispatch int notifier_call_chain(struct notifier_block **list, unsigned long event,
					  void *data, int nr_to_call, int *nr_calls)
{
	struct notifier_block *nb = rcu_dereference(*list);
	int ret = NOTIFY_DONE;

	while (nb && nr_to_call) {
		struct notifier_block *next = rcu_dereference(nb->next);

		ret = nb->notifier_call(nb, event, data);
		if (nr_calls)
			++*nr_calls;
		if (ret & NOTIFY_STOP_MASK)
			break;
		nb = next;
		nr_to_call--;
	}
	return ret;
}

__dispatch int __atomic_notifier_call_chain(struct atomic_notifier_head *nh, unsigned long event,
					    void *data, int nr_to_call, int *nr_calls)
{
	int ret;

	rcu_read_lock();
	ret = notifier_call_chain(&nh->head, event, data, nr_to_call, nr_calls);
	rcu_read_unlock();
	return ret;
}

__dispatch int atomic_notifier_call_chain(struct atomic_notifier_head *nh, unsigned long event,
					  void *data)
{
	return __atomic_notifier_call_chain(nh, event, data, -1, NULL);
}

__dispatch int notify_die(enum die_val event, const char *str, struct pt_regs *regs, long err,
			  int trap, int sig)
{
	struct die_args args = {
		.regs = regs, .str = str, .err = err, .trapnr = trap, .signr = sig,
	};

	return atomic_notifier_call_chain(&die_chain, event, &args);
}

#else
struct atomic_notifier_head die_chain;

__dispatch int notifier_call_chain(struct notifier_block **list, unsigned long event, void *data)
{
	struct notifier_block *nb = *list;
	int ret = NOTIFY_DONE;

	while (nb) {
		ret = nb->notifier_call(nb, event, data);
		if (ret & NOTIFY_STOP_MASK)
			return ret;
		nb = nb->next;
	}
	return ret;
}
#endif

/* Highest priority first. */
int register_die_notifier(struct notifier_block *nb)
{
	struct notifier_block **at = &die_chain.head;
	unsigned long flags;

	spin_lock_irqsave(&die_chain.lock, flags);
	while (*at && (*at)->priority >= nb->priority)
		at = &(*at)->next;
	nb->next = *at;
	*at = nb;
	spin_unlock_irqrestore(&die_chain.lock, flags);
	return 0;
}
