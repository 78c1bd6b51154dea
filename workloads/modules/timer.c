/*
 * How much time user tasks spend in a function, by a return probe whose private data hold when a call began. The
 * longest call is told, and by whom it was made.
 */
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

static char function[NAME_MAX] = "do_fork";
module_param_string(function, function, NAME_MAX, 0444);
MODULE_PARM_DESC(function, "whose calls "
			   "are timed");
static int kernel_too;
module_param(kernel_too, int, 0);

/* What is known of all calls. */
struct ledger {
	spinlock_t lock;
	s64 total, longest;
	unsigned long value;	/* that the longest call returned */
	char by[TASK_COMM_LEN];
	int number;
};

static struct ledger *ledger;

/* Calls of kernel threads are left out unless they are asked for: 1 says that the return is not to be seen. */
static int arrive(struct kretprobe_instance *call, struct pt_regs *at __maybe_unused)
{
	ktime_t *since = (ktime_t *)call->data;

	*since = ktime_get();
	return current->mm == NULL && !kernel_too;
}

static int leave(struct kretprobe_instance *call, struct pt_regs *at)
{
	const ktime_t since = *(ktime_t *)call->data, now = ktime_get();
	const s64 took = ktime_to_ns(ktime_sub(now, since));
	unsigned long state;

	if (WARN_ON(ktime_compare(now, since) < 0))
		return 0;
	spin_lock_irqsave(&ledger->lock, state);
	ledger->total += took;
	if (took >= ledger->longest) {
		ledger->longest = took;
		ledger->value = regs_return_value(at);
		ledger->number = current->pid;
		strncpy(ledger->by, current->comm, sizeof(ledger->by) - 1);
	}
	spin_unlock_irqrestore(&ledger->lock, state);
	return 0;
}

static struct kretprobe watch = {
	.kp.symbol_name = function, .entry_handler = arrive, .handler = leave,
	.maxactive = 20, .data_size = sizeof(ktime_t),
};

static int __init begin(void)
{
	int result = -ENOMEM;

	ledger = kzalloc(sizeof(*ledger), GFP_KERNEL);
	if (ledger) {
		spin_lock_init(&ledger->lock);
		result = register_kretprobe(&watch);
		if (result)
			kfree(ledger);
	}
	return result;
}

static void __exit end(void)
{
	unregister_kretprobe(&watch);
	printk(KERN_INFO "timer: %s took %lld ns, the longest call %lld ns by %s[%d], which got %lu; %d missed\n", function,
	       (long long)ledger->total, (long long)ledger->longest, ledger->by, ledger->number, ledger->value,
	       watch.nmissed);
	kfree(ledger);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL v2");
