/*
 * A jprobe of do_fork, whose arguments differ from year to year. It counts the calls that ask for an address of the
 * child's number to be written, by a word of flags.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/fork.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(3, 8, 0)
#define REGISTERS struct pt_regs *registers __maybe_unused,
#else
#define REGISTERS
#endif

static unsigned long every_flag, stacks, wanted;

static long look(unsigned long flags, unsigned long stack, REGISTERS unsigned long size, int __user *parent,
		 int __user *child)
{
	every_flag |= flags;
	stacks += stack || size;
	wanted += parent || child;
	jprobe_return();
	return size;
}

static struct jprobe arguments = { .kp.symbol_name = "do_fork", .entry = JPROBE_ENTRY(look) };

static int __init begin(void)
{
	return register_jprobe(&arguments);
}

static void __exit end(void)
{
	unregister_jprobe(&arguments);
	printk(KERN_INFO "arguments of %p by %p: flags 0x%lx, %lu stacks, %lu numbers wanted\n", arguments.kp.addr,
	       arguments.entry, every_flag, stacks, wanted);
}

module_init(begin)
module_exit(end)
MODULE_LICENSE("GPL");
