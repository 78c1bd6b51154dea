/* A module of today that uses the three handlers of a kprobe, with what they print. */
#define pr_fmt(fmt) "%s: " fmt, __func__

#include <linux/kprobes.h>
#include <linux/module.h>

static char where[KSYM_NAME_LEN] = "kernel_clone";
module_param_string(where, where, KSYM_NAME_LEN, 0644);
MODULE_PARM_DESC(where, "the function to trace");

static int stack;
module_param(stack, int, 0444);
static bool quiet;
module_param(quiet, bool, 0);

/* The words of status and of the next instruction have names of their own on each architecture. */
#if defined(CONFIG_X86)
static unsigned long status(struct pt_regs *at_hit) { return at_hit->flags; }
static unsigned long next(struct pt_regs *at_hit) { return at_hit->ip; }
#elif defined(CONFIG_PPC)
static unsigned long status(struct pt_regs *at_hit) { return at_hit->msr; }
static unsigned long next(struct pt_regs *at_hit) { return at_hit->nip; }
#else
static unsigned long status(struct pt_regs *at_hit) { return at_hit->ARM_cpsr; }
static unsigned long next(struct pt_regs *at_hit) { return at_hit->ARM_pc; }
#endif

static struct kprobe tracer = { .symbol_name = where };

static int __kprobes before(struct kprobe *p, struct pt_regs *regs)
{
	if (quiet)
		return 0;
	pr_info("%s: status %lx, next %lx, first instruction %pS\n", p->symbol_name, status(regs), next(regs), p->addr);
	if (stack)
		dump_stack();
	return 0;
}

static void __kprobes after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	if (!quiet)
		pr_info("%s is over, %lu, at %lx\n", p->symbol_name, flags, instruction_pointer(regs));
}

static int failed(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	pr_err("trap %d at %pS of %lx\n", trapnr, p->addr, instruction_pointer(regs));
	return 0;
}
NOKPROBE_SYMBOL(failed);

static int __init tracer_init(void)
{
	int error;

	tracer.pre_handler = before;
	tracer.post_handler = after;
	tracer.fault_handler = failed;
	error = register_kprobe(&tracer);
	if (error < 0) {
		pr_err("no probe: %d\n", error);
		return error;
	}
	pr_info("a probe at %p\n", tracer.addr);
	return 0;
}

static void __exit tracer_exit(void)
{
	unregister_kprobe(&tracer);
	pr_info("no probe at %p any more\n", tracer.addr);
}

module_init(tracer_init)
module_exit(tracer_exit)
MODULE_LICENSE("GPL");
MODULE_AUTHOR("the authors of kprobesim");
MODULE_DESCRIPTION("prints where a function is called");
