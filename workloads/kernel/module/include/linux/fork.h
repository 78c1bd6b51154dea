/*
 * Making tasks, under the names and with the arguments of several years. The newest calls the older ones, so that
 * a probe of any of them is hit. No task is made: the child is a record with a number.
 */
#ifndef _MODULE_LINUX_FORK_H
#define _MODULE_LINUX_FORK_H

#include <linux/linkage.h>
#include <linux/types.h>

struct pt_regs;

/* What kernel_clone is told (5.5 and later). */
struct kernel_clone_args {
	u64 flags;
	int __user *pidfd;
	int __user *child_tid;
	int __user *parent_tid;
	int exit_signal;
	unsigned long stack;
	unsigned long stack_size;
	unsigned long tls;
};

#define CSIGNAL 0xff
#define CLONE_VM 0x100
#define CLONE_PARENT_SETTID 0x100000
#define CLONE_CHILD_SETTID 0x1000000

/* Each returns the number of the child. */
pid_t kernel_clone(struct kernel_clone_args *args);
long _do_fork(unsigned long clone_flags, unsigned long stack_start, unsigned long stack_size,
	      int __user *parent_tidptr, int __user *child_tidptr, unsigned long tls);
#if ERA >= 2014
long do_fork(unsigned long clone_flags, unsigned long stack_start, unsigned long stack_size,
	     int __user *parent_tidptr, int __user *child_tidptr);
#else
long do_fork(unsigned long clone_flags, unsigned long stack_start, struct pt_regs *regs,
	     unsigned long stack_size, int __user *parent_tidptr, int __user *child_tidptr);
#endif

#endif
