/* User tasks, and what the kernel does for them. */
#include <linux/file.h>
#include <linux/guest.h>
#include <linux/user.h>
#include <linux/mm.h>
#include <linux/userprobes.h>
#include <linux/workload.h>
#include <asm/syscall.h>

#define ENOSYS 38

/* What SYS_WORK calls; the simulator may have it call another one. */
bench_fn sys_work_fn __syscall_data = bench_target;

void start_user(struct pt_regs *regs) __noreturn;

__syscall void user_init(void *unused __unused)
{
	accept_syscalls();
#ifdef USERPROBES
	accept_user_breakpoints();
#endif
}

/* The registers lie in this function's frame on the task's stack; it never returns, so they stay. */
__syscall unsigned long user_thread(unsigned long at)
{
	const struct user_start *start = (const struct user_start *)at;
	struct pt_regs regs = USER_REGS((unsigned long)user_main, at - sizeof(unsigned long));

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
	[SYS_FILE] = file_call,
#ifdef USERPROBES
	[SYS_FORGET] = sys_forget,
#endif
};

__syscall void do_syscall(struct pt_regs *regs)
{
	unsigned long nr = syscall_number(regs);

	if (nr >= ARRAY_SIZE(calls)) {
		syscall_return(regs, -ENOSYS);
		return;
	}
	syscall_return(regs, calls[nr](syscall_argument(regs, 0), syscall_argument(regs, 1)));
}

/* On the way to user mode another task is to run; interrupts are off. */
__syscall void schedule_user(void)
{
#ifdef USERPROBES
	if (postpone_reschedule())
		return;
#endif
	local_irq_enable();
	schedule();
	local_irq_disable();
}

static char fault_text[] __syscall_data =
	"%s[%d] in user mode: ip 0x%lx, sp 0x%lx, error code 0x%lx\n";
static char page_text[] __syscall_data = "a user task touched what it may not: address";
static char trap_text[] __syscall_data = "a user task raised an exception: vector";

/* There are no signals: a user task that faults is a mistake in the experiment, and ends the run. */
__syscall void user_fault(struct pt_regs *regs, long error_code, unsigned int vector)
{
	unsigned long args[PRINTK_ARGS] = {
		(unsigned long)current->comm, current->pid, instruction_pointer(regs),
		user_stack_pointer(regs), error_code,
	};

#ifdef USERPROBES
	if (user_space_fault(regs, error_code, vector))
		return;
#endif
	sim_printk(fault_text, args);
	if (is_page_fault(vector))
		panic_at(page_text, fault_address(regs));
	panic_at(trap_text, vector);
}
