/*
 * Where tasks begin, for modules that probe it. A child is a record: its number is drawn, and its parent's name and
 * description are copied. It never runs, because what a workload wants of it is the call.
 */
#include "library.h"
#include <linux/fork.h>

#define FIRST_CHILD 1000
#define CHILDREN 8	/* records that are kept */

static struct child {
	pid_t pid;
	unsigned long flags, stack;
	struct task_struct task;
} children[CHILDREN];
static int last_child = FIRST_CHILD - 1;

static noinline struct child *make_child(unsigned long flags, unsigned long stack)
{
	pid_t pid = __sync_add_and_fetch(&last_child, 1);
	struct child *child = &children[pid % CHILDREN];

	*child = (struct child){ .pid = pid, .flags = flags, .stack = stack };
	memcpy(&child->task, current, sizeof(child->task));
	child->task.pid = pid;
	return child;
}

/* Tells those who asked which number the child has. */
static noinline long fork_child(unsigned long flags, unsigned long stack, int __user *parent_tid,
				int __user *child_tid)
{
	struct child *child = make_child(flags, stack);

	if (flags & CLONE_PARENT_SETTID && parent_tid)
		*parent_tid = child->pid;
	if (flags & CLONE_CHILD_SETTID && child_tid)
		*child_tid = child->pid;
	return child->pid;
}

/* Kernels before 3.9 had one argument more, the registers of the task that forks. */
#if ERA >= 2014
#define CALLER_REGISTERS
#define NO_REGISTERS
#else
#define CALLER_REGISTERS struct pt_regs *caller __unused,
#define NO_REGISTERS NULL,
#endif

noinline long do_fork(unsigned long how, unsigned long stack, CALLER_REGISTERS unsigned long room __unused,
		      int __user *tell_parent, int __user *tell_child)
{
	return fork_child(how, stack, tell_parent, tell_child);
}

noinline long _do_fork(unsigned long how, unsigned long stack, unsigned long room, int __user *tell_parent,
		       int __user *tell_child, unsigned long tls __unused)
{
	return do_fork(how, stack, NO_REGISTERS room, tell_parent, tell_child);
}

noinline pid_t kernel_clone(struct kernel_clone_args *args)
{
	unsigned long how = args->flags | (args->exit_signal & CSIGNAL);

	return _do_fork(how, args->stack, args->stack_size, args->parent_tid, args->child_tid, args->tls);
}

/* What a workload calls: a fork as the shell of a user makes it, whose arguments are flags and stack. */
__used noinline unsigned long fork_work(unsigned long flags, unsigned long stack)
{
	int tid = 0;
	struct kernel_clone_args args = {
		.flags = flags | CLONE_PARENT_SETTID, .stack = stack, .parent_tid = &tid, .exit_signal = 17,
	};

	return kernel_clone(&args);
}

EXPORT_SYMBOL(do_fork);
EXPORT_SYMBOL(_do_fork);
EXPORT_SYMBOL(kernel_clone);
EXPORT_SYMBOL(fork_work);
