/* Counts calls by CPU and by first argument, as modules that look for hot callers do. */
#include <linux/hashtable.h>
#include <linux/kprobes.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/slab.h>

static char *symbol = "work_checksum";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "the function to count");

struct caller {
	struct hlist_node link;
	unsigned long argument;
	unsigned long calls;
};

static DEFINE_PER_CPU(unsigned long, calls);
static DEFINE_HASHTABLE(callers, 4);
static DEFINE_SPINLOCK(lock);
static char last[TASK_COMM_LEN];

static struct caller *find(unsigned long argument)
{
	struct caller *c;

	hash_for_each_possible(callers, c, link, argument)
		if (c->argument == argument)
			return c;
	c = kzalloc(sizeof(*c), GFP_ATOMIC);
	if (!c)
		return NULL;
	c->argument = argument;
	hash_add(callers, &c->link, argument);
	return c;
}

static int count_pre(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long flags;
	struct caller *c;

	this_cpu_inc(calls);
	get_task_comm(last, current);
	pr_info_once("first hit at %ps, stack %d\n", p->addr, kernel_stack_pointer(regs) != 0);
	spin_lock_irqsave(&lock, flags);
	c = find(regs_get_kernel_argument(regs, 0));
	if (c)
		c->calls++;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kprobe probe = { .pre_handler = count_pre };

static int __init counts_init(void)
{
	probe.symbol_name = symbol;
	return register_kprobe(&probe);
}

static void __exit counts_exit(void)
{
	unsigned long sum = 0, found = 0;
	struct hlist_node *behind;
	struct caller *c;
	int i;

	unregister_kprobe(&probe);
	for_each_possible_cpu(i)
		sum += per_cpu(calls, i);
	hash_for_each_safe(callers, i, behind, c, link) {
		found += c->calls;
		hash_del(&c->link);
		kfree(c);
	}
	pr_info("%lu calls, %lu of them by argument, the last by %s\n", sum, found, last);
}

module_init(counts_init);
module_exit(counts_exit);
MODULE_LICENSE("GPL");
