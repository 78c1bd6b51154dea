/* How long a function takes for user tasks: the private data of a return probe hold when it began. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char function[NAME_MAX] = "do_fork";
module_param_string(function, function, NAME_MAX, 0444);
MODULE_PARM_DESC(function, "whose calls "
			   "are timed");
static int kernel_too;
module_param(kernel_too, int, 0);

struct stay {
	ktime_t since;
};

static DEFINE_SPINLOCK(total_lock);
static s64 *total;

static int begins(struct kretprobe_instance *ri, struct pt_regs *regs __maybe_unused)
{
	struct stay *stay = (struct stay *)ri->data;

	if (!current->mm && !kernel_too)
		return 1;
	stay->since = ktime_get();
	return 0;
}

static int ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	int value = regs_return_value(regs);
	struct stay *stay = (struct stay *)ri->data;
	ktime_t now = ktime_get();
	s64 took = ktime_to_ns(ktime_sub(now, stay->since));
	unsigned long flags;

	WARN_ON(ktime_compare(now, stay->since) < 0);
	spin_lock_irqsave(&total_lock, flags);
	*total += took;
	spin_unlock_irqrestore(&total_lock, flags);
	printk(KERN_INFO "%s[%d]: %s returned %d after %lld ns\n", current->comm, current->pid, function, value,
	       (long long)took);
	return 0;
}

static struct kretprobe timer = {
	.handler = ends,
	.entry_handler = begins,
	.data_size = sizeof(struct stay),
	.maxactive = 20,
};

static int __init timer_init(void)
{
	int error;

	total = kzalloc(sizeof(*total), GFP_KERNEL);
	if (!total)
		return -ENOMEM;
	timer.kp.symbol_name = function;
	error = register_kretprobe(&timer);
	if (error < 0) {
		printk(KERN_ERR "no return probe: %d\n", error);
		kfree(total);
		return error;
	}
	printk(KERN_INFO "a return probe at %s: %p\n", timer.kp.symbol_name, timer.kp.addr);
	return 0;
}

static void __exit timer_exit(void)
{
	unregister_kretprobe(&timer);
	printk(KERN_INFO "missed %d calls of %s, which took %lld ns together\n", timer.nmissed, timer.kp.symbol_name,
	       (long long)*total);
	kfree(total);
}

module_init(timer_init);
module_exit(timer_exit);
MODULE_LICENSE("GPL v2");
