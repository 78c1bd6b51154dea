/*
 * All of the interface that the documents describe, declared once more as they print it: a header that disagrees
 * stops the compiler. Each call is made once, in the way that the documents ask for, and each result is told.
 */
#include <linux/kprobes.h>
#include <linux/kwatch.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/version.h>

/* The text of 2009. */
int register_kprobe(struct kprobe *kp);
int register_kretprobe(struct kretprobe *rp);
void unregister_kprobe(struct kprobe *kp);
void unregister_kretprobe(struct kretprobe *rp);
int register_kprobes(struct kprobe **kps, int num);
int register_kretprobes(struct kretprobe **rps, int num);
void unregister_kprobes(struct kprobe **kps, int num);
void unregister_kretprobes(struct kretprobe **rps, int num);
#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 19, 0)
int register_jprobe(struct jprobe *jp);
void unregister_jprobe(struct jprobe *jp);
int register_jprobes(struct jprobe **jps, int num);
void unregister_jprobes(struct jprobe **jps, int num);
#endif
/* That of 2018. */
int disable_kprobe(struct kprobe *kp);
int disable_kretprobe(struct kretprobe *rp);
int enable_kprobe(struct kprobe *kp);
int enable_kretprobe(struct kretprobe *rp);
/* That of 2004. */
int register_kwatch(unsigned long addr, u8 length, u8 type, kwatch_handler_t handler);
void unregister_kwatch(int debugreg);
int register_kprobe_user(struct kprobe *p);
void unregister_kprobe_user(struct kprobe *p);
int insert_kprobe_userspace(struct kprobe *p);
int remove_kprobe_user(struct kprobe *p);

int pre_handler(struct kprobe *p, struct pt_regs *regs);
void post_handler(struct kprobe *p, struct pt_regs *regs, unsigned long flags);
int fault_handler(struct kprobe *p, struct pt_regs *regs, int trapnr);
int kretprobe_handler(struct kretprobe_instance *ri, struct pt_regs *regs);

static unsigned int pres, posts, returns, watched;

int pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	pres += instruction_pointer(regs) != 0;
	return 0;
}

void post_handler(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	posts += flags == 0;
}

int fault_handler(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	return 0;
}

int kretprobe_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	returns += ri->ret_addr && ri->rp && ri->task == current && regs_return_value(regs) == 42;
	return 0;
}

static noinline long probed(long n)
{
	barrier();
	return n + 1;
}

static long (*volatile call)(long n) = probed;

static struct kprobe kp = {
	.symbol_name = "probed", .pre_handler = pre_handler, .post_handler = post_handler,
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 14, 0)
	.fault_handler = fault_handler,
#endif
};
static struct kretprobe rp = { .kp.symbol_name = "probed", .handler = kretprobe_handler, .maxactive = 2 };
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
	static struct kprobe user = { .pre_handler = pre_handler, .user = &place };
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
