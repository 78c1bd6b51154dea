/* User tasks, and what the kernel does for them. */
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/user.h>
#include <linux/workload.h>
#include <asm/processor.h>
#include <asm/syscall.h>

#define ENOSYS 38

/* What SYS_WORK calls; the simulator may have it call another one. */
bench_fn sys_work_fn __syscall_data = bench_target;

void system_call(void);
void start_user(struct pt_regs *regs) __noreturn;

#ifdef __x86_64__
#define SYSRET_CS 0x23	/* sysret loads this plus 16, and plus 8 for the stack */

_Static_assert(offsetof(struct tss, sp[2]) == TSS_SP2, "processor.h");
_Static_assert((SYSRET_CS + 16 == __USER_CS) && (SYSRET_CS + 8 == __USER_DS), "ptrace.h");

__syscall void user_init(void *unused __unused)
{
	wrmsrl(MSR_STAR, (u64)SYSRET_CS << 48 | (u64)__KERNEL_CS << 32);
	wrmsrl(MSR_LSTAR, (unsigned long)system_call);
	wrmsrl(MSR_SYSCALL_MASK,
	       X86_EFLAGS_TF | X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_IOPL);
}
#else
extern struct gate idt[256];

/* A trap gate, which leaves interrupts on, that user mode may go through. All CPUs have one table. */
__syscall void user_init(void *unused __unused)
{
	unsigned long at = (unsigned long)system_call;

	idt[SYSCALL_VECTOR] = (struct gate){
		.offset_low = at, .segment = __KERNEL_CS, .bits = 0xef00, .offset_middle = at >> 16,
	};
}
#endif

/* The registers lie on the task's stack, below what is on it now; nobody returns to that. */
__syscall unsigned long user_thread(unsigned long at)
{
	const struct user_start *start = (const struct user_start *)at;
	struct pt_regs regs = {
		.ip = (unsigned long)user_main, .cs = __USER_CS,
		.flags = X86_EFLAGS_IF | X86_EFLAGS_FIXED,
		.sp = at - sizeof(unsigned long), .ss = __USER_DS,
	};

	set_user_arguments(&regs, start->fn, start->arg);
	current->flags &= ~PF_KTHREAD;
	start_user(&regs);
}

static __syscall unsigned long sys_exit(unsigned long code, unsigned long b __unused)
{
	do_exit(code);
}

static __syscall unsigned long sys_work(unsigned long a, unsigned long b)
{
	return sys_work_fn(a, b);
}

static __syscall unsigned long sys_sleep(unsigned long jiffies, unsigned long b __unused)
{
	schedule_timeout(jiffies);
	return 0;
}

/* What race_call does in a kernel thread, once. */
static __syscall unsigned long sys_race(unsigned long arg, unsigned long b __unused)
{
	struct race_caller *c = (struct race_caller *)arg;
	unsigned long pause;

	while ((pause = READ_VOLATILE(c->pause))) {
		WRITE_VOLATILE(c->paused, pause);
		schedule();
	}
	race_returned(c, c->fn(c->a0, c->a1));
	if (!(c->calls & 1))
		schedule();
	return 0;
}

static unsigned long (*calls[])(unsigned long, unsigned long) __syscall_data = {
	[SYS_EXIT] = sys_exit,
	[SYS_WORK] = sys_work,
	[SYS_SLEEP] = sys_sleep,
	[SYS_RACE] = sys_race,
};

__syscall void do_syscall(struct pt_regs *regs)
{
	unsigned long nr = regs->orig_ax;

	if (nr >= ARRAY_SIZE(calls)) {
		regs->ax = -ENOSYS;
		return;
	}
	regs->ax = calls[nr](syscall_argument(regs, 0), syscall_argument(regs, 1));
}

/* On the way to user mode another task is to run; interrupts are off. */
__syscall void schedule_user(void)
{
	local_irq_enable();
	schedule();
	local_irq_disable();
}

static char fault_text[] __syscall_data =
	"%s[%d] in user mode: ip 0x%lx, sp 0x%lx, error code 0x%lx\n";
static char page_text[] __syscall_data = "a user task touched what it may not: address";
static char trap_text[] __syscall_data = "a user task raised an exception: vector";

/* There are no signals: a user task that faults is a mistake of who wrote it. */
__syscall void user_fault(struct pt_regs *regs, long error_code, unsigned int vector)
{
	unsigned long args[PRINTK_ARGS] = {
		(unsigned long)current->comm, current->pid, regs->ip, regs->sp, error_code,
	};

	sim_printk(fault_text, args);
	if (vector == 14)
		panic_at(page_text, read_cr2());
	panic_at(trap_text, vector);
}
