/*
 * All of the interface that the documents describe: a header that disagrees with them stops the compiler. Each call is made once, in the way that the documents ask for, and each result is told.
 */
#include <linux/kprobes.h>
#include <linux/kwatch.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/version.h>

/* The compiler stops unless a name has the type that its document gives it. */
#define TYPE(name, ...) _Static_assert(__builtin_types_compatible_p(typeof(name), __VA_ARGS__), #name)

/* Of 2009. */
TYPE(register_kprobe, int(struct kprobe *));
TYPE(register_kprobes, int(struct kprobe **, int));
TYPE(unregister_kprobe, void(struct kprobe *));
TYPE(unregister_kprobes, void(struct kprobe **, int));
TYPE(register_kretprobe, int(struct kretprobe *));
TYPE(register_kretprobes, int(struct kretprobe **, int));
TYPE(unregister_kretprobe, void(struct kretprobe *));
TYPE(unregister_kretprobes, void(struct kretprobe **, int));
#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 19, 0)
TYPE(register_jprobe, int(struct jprobe *));
TYPE(register_jprobes, int(struct jprobe **, int));
TYPE(unregister_jprobe, void(struct jprobe *));
TYPE(unregister_jprobes, void(struct jprobe **, int));
#endif
TYPE(((struct kprobe *)0)->pre_handler, int (*)(struct kprobe *, struct pt_regs *));
TYPE(((struct kprobe *)0)->post_handler, void (*)(struct kprobe *, struct pt_regs *, unsigned long));
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 14, 0)
TYPE(((struct kprobe *)0)->fault_handler, int (*)(struct kprobe *, struct pt_regs *, int));
#endif
TYPE(((struct kretprobe *)0)->handler, int (*)(struct kretprobe_instance *, struct pt_regs *));

/* Of 2018. */
TYPE(enable_kprobe, int(struct kprobe *));
TYPE(disable_kprobe, int(struct kprobe *));
TYPE(enable_kretprobe, int(struct kretprobe *));
TYPE(disable_kretprobe, int(struct kretprobe *));

/* Of 2004. */
TYPE(register_kwatch, int(unsigned long, u8, u8, kwatch_handler_t));
TYPE(unregister_kwatch, void(int));
TYPE(register_kprobe_user, int(struct kprobe *));
TYPE(unregister_kprobe_user, void(struct kprobe *));
TYPE(insert_kprobe_userspace, int(struct kprobe *));
TYPE(remove_kprobe_user, int(struct kprobe *));

static unsigned int pres, posts, returns, watched;

static int arrive(struct kprobe *probe, struct pt_regs *at)
{
	pres += instruction_pointer(at) != 0;
	return 0;
}

static void stepped(struct kprobe *probe, struct pt_regs *at, unsigned long flags)
{
	posts += flags == 0;
}

static int __maybe_unused fail(struct kprobe *probe, struct pt_regs *at, int vector)
{
	return 0;
}

static int leave(struct kretprobe_instance *call, struct pt_regs *at)
{
	returns += call->ret_addr && call->rp && call->task == current && regs_return_value(at) == 42;
	return 0;
}

static noinline long probed(long n)
{
	barrier();
	return n + 1;
}

static long (*volatile call)(long n) = probed;

static struct kprobe kp = {
	.symbol_name = "probed", .pre_handler = arrive, .post_handler = stepped,
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 14, 0)
	.fault_handler = fail,
#endif
};
static struct kretprobe rp = { .kp.symbol_name = "probed", .handler = leave, .maxactive = 2 };
static struct kprobe *kps[] = { &kp };
static struct kretprobe *rps[] = { &rp };

static void again(void)
{
	kp.addr = rp.kp.addr = NULL;
	kp.flags = rp.kp.flags = 0;
}

static void one_by_one(void)
{
	int k = register_kprobe(&kp), r = register_kretprobe(&rp);

	call(41);
	pr_info("interface: %d %d; %u pre, %u post, %u returns\n", k, r, pres, posts, returns);
	k = disable_kprobe(&kp);
	r = disable_kretprobe(&rp);
	call(41);
	pr_info("interface: disabled %d %d; %u pre, %u returns\n", k, r, pres, returns);
	k = enable_kprobe(&kp);
	r = enable_kretprobe(&rp);
	call(41);
	pr_info("interface: enabled %d %d; %u pre, %u returns\n", k, r, pres, returns);
	unregister_kprobe(&kp);
	unregister_kretprobe(&rp);
}

static void arrays(void)
{
	int k, r;

	again();
	k = register_kprobes(kps, 1);
	r = register_kretprobes(rps, 1);
	call(41);
	pr_info("interface: arrays %d %d; %u pre, %u returns\n", k, r, pres, returns);
	unregister_kprobes(kps, 1);
	unregister_kretprobes(rps, 1);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 19, 0)
static long argument;

static long same_arguments(long n)
{
	argument = n;
	jprobe_return();
	return 0;
}

static struct jprobe jp = { .kp.symbol_name = "probed", .entry = JPROBE_ENTRY(same_arguments) };
static struct jprobe *jps[] = { &jp };

static void jprobes(void)
{
	int one = register_jprobe(&jp), many;

	call(41);
	unregister_jprobe(&jp);
	jp.kp.addr = NULL;
	jp.kp.flags = 0;
	many = register_jprobes(jps, 1);
	pr_info("interface: jprobes %d %d; argument %ld\n", one, many, argument);
	unregister_jprobes(jps, 1);
}
#else
static void jprobes(void)
{
	pr_info("interface: jprobes are gone\n");
}
#endif

static long word;

static void touched(struct kwatch *w, struct pt_regs *regs)
{
	watched++;
}

static void watchpoint(void)
{
	int debugreg = register_kwatch((unsigned long)&word, sizeof(u32), DR_RW_WRITE, touched);

	WRITE_ONCE(word, 1);
	if (debugreg >= 0)
		unregister_kwatch(debugreg);
	WRITE_ONCE(word, 2);
	pr_info("interface: watchpoint %s, %u writes\n", debugreg < 0 ? "refused" : "set", watched);
}

#ifdef USERPROBES
static void user_probe(void)
{
	static struct uprobe place = { .inode = (struct inode *)&place, .offset = 64 };
	static struct kprobe user = { .pre_handler = arrive, .user = &place };
	int first = register_kprobe_user(&user), second = register_kprobe_user(&user);

	unregister_kprobe_user(&user);
	pr_info("interface: user probe %d, a second one %d, removed without being registered %d\n", first, second,
		remove_kprobe_user(&user));
}
#else
static void user_probe(void)
{
	static struct kprobe user;

	pr_info("interface: user probe %d\n", register_kprobe_user(&user));
}
#endif

static int __init begin(void)
{
	one_by_one();
	arrays();
	jprobes();
	watchpoint();
	user_probe();
	return 0;
}

static void __exit end(void)
{
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
