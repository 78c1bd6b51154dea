/* A jprobe of do_fork: its function has the arguments of the year. */
#include <linux/fork.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(3, 8, 0)
static long show(unsigned long clone_flags, unsigned long stack_start, unsigned long stack_size,
		 int __user *parent_tidptr, int __user *child_tidptr)
#else
static long show(unsigned long clone_flags, unsigned long stack_start, struct pt_regs *regs __maybe_unused,
		 unsigned long stack_size, int __user *parent_tidptr, int __user *child_tidptr)
#endif
{
	printk(KERN_INFO "arguments: clone_flags 0x%lx, stack_start 0x%lx, stack_size 0x%lx, %d\n", clone_flags,
	       stack_start, stack_size, parent_tidptr != child_tidptr);
	jprobe_return();
	return 0;
}

static struct jprobe probe = {
	.entry = JPROBE_ENTRY(show),
	.kp = { .symbol_name = "do_fork" },
};

static int __init arguments_init(void)
{
	int error = register_jprobe(&probe);

	if (error < 0) {
		printk("no jprobe: %d\n", error);
		return error;
	}
	printk("a jprobe at %p, %p\n", probe.kp.addr, probe.entry);
	return 0;
}

static void __exit arguments_exit(void)
{
	unregister_jprobe(&probe);
	printk("no jprobe any more\n");
}

module_init(arguments_init)
module_exit(arguments_exit)
MODULE_LICENSE("GPL");
