/* A module as they were in 2005: the probe stands at an address, and registers have their names of that time. */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/kprobes.h>
#include <linux/kallsyms.h>
#include <linux/sched.h>

/* The code of a function has a name of its own where a pointer leads to a descriptor. */
#ifdef __powerpc64__
#define DO_FORK ".do_fork"
#else
#define DO_FORK "do_fork"
#endif

static struct kprobe kp;

int old_before(struct kprobe *p, struct pt_regs *regs)
{
	printk("old_before: p->addr=0x%p", p->addr);
#if defined(__i386__)
	printk(" eip=%lx eflags=0x%lx eax=%lx", regs->eip, regs->eflags, regs->eax);
#elif defined(__x86_64__)
	printk(" rip=%lx eflags=0x%lx rax=%lx", regs->rip, regs->eflags, regs->rax);
#elif defined(__powerpc64__)
	printk(" nip=%lx msr=%lx", regs->nip, regs->msr);
#endif
	printk(" of %s\n", current->comm);
	dump_stack();
	return 0;
}

void old_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	printk("old_after: p->addr=0x%p regs=%p flags=0x%lx\n", p->addr, regs, flags);
}

int old_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	printk("old_fault: p->addr=0x%p, trap %d, %p\n", p->addr, trapnr, regs);
	return 0;
}

int old_init(void)
{
	int error;

	kp.pre_handler = old_before;
	kp.post_handler = old_after;
	kp.fault_handler = old_fault;
	kp.addr = (kprobe_opcode_t *)kallsyms_lookup_name(DO_FORK);
	if (!kp.addr) {
		printk("no do_fork\n");
		return -1;
	}
	if ((error = register_kprobe(&kp)) < 0) {
		printk("no probe: %d\n", error);
		return -1;
	}
	printk("a probe\n");
	return 0;
}

void old_exit(void)
{
	unregister_kprobe(&kp);
	printk("no probe any more\n");
}

module_init(old_init)
module_exit(old_exit)
MODULE_LICENSE("GPL");
