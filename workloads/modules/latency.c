/* How long functions take, as a histogram; some calls are made to fail, as modules that inject faults do. */
#include <linux/ratelimit.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/ktime.h>
#include <linux/atomic.h>
#include <linux/slab.h>

#define BUCKETS 32

static char *names[4] = { "work_checksum", "work_divide" };
static int count = 2;
module_param_array(names, charp, &count, 0444);
static unsigned int every;
module_param(every, uint, 0644);
MODULE_PARM_DESC(every, "one call of that many fails; 0: none");

static atomic64_t taken[BUCKETS];
static struct kretprobe *probes[4];

static int entered(struct kretprobe_instance *ri, struct pt_regs *regs __maybe_unused)
{
	*(ktime_t *)ri->data = ktime_get();
	return 0;
}

static int returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	s64 ns = ktime_to_ns(ktime_sub(ktime_get(), *(ktime_t *)ri->data));

	atomic64_inc(&taken[ns > 0 ? min(ilog2(ns), BUCKETS - 1) : 0]);
	if (every && get_random_u32() % every == 0) {
		regs_set_return_value(regs, (unsigned long)-EIO);
		pr_info_ratelimited("a call fails\n");
	}
	return 0;
}

static void release(void)
{
	for (int i = 0; i < count; i++)
		kfree(probes[i]);
}

static int __init latency_init(void)
{
	int error;

	for (int i = 0; i < count; i++) {
		probes[i] = kzalloc(sizeof(*probes[i]), GFP_KERNEL);
		if (!probes[i]) {
			release();
			return -ENOMEM;
		}
		probes[i]->kp.symbol_name = names[i];
		probes[i]->entry_handler = entered;
		probes[i]->handler = returned;
		probes[i]->data_size = sizeof(ktime_t);
		probes[i]->maxactive = 20;
	}
	error = register_kretprobes(probes, count);
	if (error)
		release();
	return error;
}

static void __exit latency_exit(void)
{
	u64 calls = 0;

	unregister_kretprobes(probes, count);
	release();
	for (int i = 0; i < BUCKETS; i++)
		calls += atomic64_read(&taken[i]);
	trace_printk("%llu calls\n", (unsigned long long)calls);
}

module_init(latency_init);
module_exit(latency_exit);
MODULE_LICENSE("GPL");
