/* SPDX-License-Identifier: GPL-2.0 */

/*
 * Probes whose handlers count and do nothing else. What they are is said by parameters when the module is inserted;
 * hits tells how often they were hit.
 */

#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/perf_event.h>
#include <linux/uprobes.h>

static char *symbol = "";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function of the kernel; for a watchpoint an address; for probes of user mode a file");

static unsigned int offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "of the probe in it, in bytes");

static char *kind = "kprobe";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "kprobe, post (one with a post handler, too), kretprobe, entry (with an entry handler, too), "
		       "watchpoint, uprobe or uretprobe");

static int access = HW_BREAKPOINT_X;
module_param(access, int, 0444);
MODULE_PARM_DESC(access, "what a watchpoint waits for: 2 writes, 3 reads and writes, 4 execution");

static int maxactive = 20;
module_param(maxactive, int, 0444);
MODULE_PARM_DESC(maxactive, "calls that a kretprobe follows at once");

/* A plain increment: the kernel has one processor, and the handlers of one site do not nest. */
static unsigned long hits;
module_param(hits, ulong, 0444);
MODULE_PARM_DESC(hits, "how often the probe was hit");

static int count_hit(struct kprobe *p, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void after_step(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int count_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static void count_access(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	hits++;
}

static int count_user(struct uprobe_consumer *c, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static int count_user_return(struct uprobe_consumer *c, unsigned long function, struct pt_regs *regs)
{
	hits++;
	return 0;
}

static struct kprobe probe = { .pre_handler = count_hit };
static struct kretprobe return_probe = { .handler = count_return };
static struct perf_event * __percpu *watchpoint;
static struct uprobe_consumer user_probe;
static struct path user_file;

/* A module cannot look data up by name, so that the symbol of a watchpoint is an address. */
static int watch(void)
{
	struct perf_event_attr attr;
	unsigned long long addr;
	int err = kstrtoull(symbol, 0, &addr);

	if (err)
		return err;
	hw_breakpoint_init(&attr);
	attr.bp_addr = addr + offset;
	attr.bp_type = access;
	attr.bp_len = access == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	watchpoint = register_wide_hw_breakpoint(&attr, count_access, NULL);
	if (IS_ERR((void __force *)watchpoint)) {
		err = PTR_ERR((void __force *)watchpoint);
		watchpoint = NULL;
	}
	return err;
}

/* The offset is one in the file. */
static int probe_user(bool returns)
{
	int err = kern_path(symbol, LOOKUP_FOLLOW, &user_file);

	if (err)
		return err;
	if (returns)
		user_probe.ret_handler = count_user_return;
	else
		user_probe.handler = count_user;
	err = uprobe_register(d_inode(user_file.dentry), offset, &user_probe);
	if (err)
		path_put(&user_file);
	return err;
}

static int __init empty_init(void)
{
	bool post = !strcmp(kind, "post"), entry = !strcmp(kind, "entry");

	if (!strcmp(kind, "kprobe") || post) {
		probe.symbol_name = symbol;
		probe.offset = offset;
		probe.post_handler = post ? after_step : NULL;
		return register_kprobe(&probe);
	}
	if (!strcmp(kind, "kretprobe") || entry) {
		return_probe.kp.symbol_name = symbol;
		return_probe.kp.offset = offset;
		return_probe.maxactive = maxactive;
		return_probe.entry_handler = entry ? on_entry : NULL;
		return register_kretprobe(&return_probe);
	}
	if (!strcmp(kind, "watchpoint"))
		return watch();
	if (!strcmp(kind, "uprobe") || !strcmp(kind, "uretprobe"))
		return probe_user(!strcmp(kind, "uretprobe"));
	pr_err("kprobesim_empty: no kind %s\n", kind);
	return -EINVAL;
}

static void __exit empty_exit(void)
{
	if (watchpoint)
		unregister_wide_hw_breakpoint(watchpoint);
	if (user_file.dentry) {
		uprobe_unregister(d_inode(user_file.dentry), offset, &user_probe);
		path_put(&user_file);
	}
	if (probe.addr)
		unregister_kprobe(&probe);
	if (return_probe.kp.addr)
		unregister_kretprobe(&return_probe);
}

module_init(empty_init);
module_exit(empty_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Probes with handlers that do nothing");
