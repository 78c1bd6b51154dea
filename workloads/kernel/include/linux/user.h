/*
 * User mode. All user tasks share one address space: the pages of the sections .user, which the loader
 * lets user mode reach. A task has one of the stacks in them beside its kernel stack.
 */
#ifndef _LINUX_USER_H
#define _LINUX_USER_H

#include "kernel.h"

/* Numbers of system calls. */
#define SYS_EXIT 0	/* (code) */
#define SYS_WORK 1	/* (a, b): what a function of the kernel returns, which may be probed */
#define SYS_SLEEP 2	/* (jiffies) */
#define SYS_RACE 3	/* (struct race_caller *): one call of its function */
#define SYS_FILE 4	/* (struct file_call *): linux/file.h */
#define SYS_FORGET 5	/* (): all translations of the task's address space go, where tasks have one */

#define USER_STACKS 256

enum user_stack {
	USER_STACK_SIZE = 1024,	/* bytes of each stack of user_stacks */
};

/* At the top of a user stack: what its task does. Written by the simulator. */
struct user_start {
	unsigned long fn, arg;
};

/* What a loop in user mode does, and the sum of the results that it leaves. Written and read by the simulator. */
struct user_work {
	unsigned long n, a0, a1, sum;
};

/* Body of user tasks for kthread_setup: goes to user mode and calls start->fn(start->arg) there. */
unsigned long user_thread(unsigned long start);
/* Lets user mode into the kernel of this CPU. Called on each CPU before the first user task is made: a
   machine without any is as it was before there was user mode. */
void user_init(void *unused);
/* Where a task begins in user mode. */
void user_main(unsigned long (*fn)(unsigned long), unsigned long arg);

struct pt_regs;
/* An exception of user mode that nobody takes ends the run. */
void user_fault(struct pt_regs *regs, long error_code, unsigned int vector);

#endif
