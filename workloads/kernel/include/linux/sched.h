/*
 * Tasks. A task is a task_struct and a stack whose lowest bytes are its thread_info. Which task
 * runs is decided by the simulator (sched_pick); changing from one to the other is guest code.
 */
#ifndef _LINUX_SCHED_H
#define _LINUX_SCHED_H

#include <asm/asm.h>
#include <asm/thread_info.h>

#define _TIF_NEED_RESCHED (1 << TIF_NEED_RESCHED)

/* Offsets into struct thread_info for assembly, asserted in core/sched.c. */
#define TI_FLAGS (BITS_PER_LONG / 8)
#define TI_PREEMPT_COUNT (2 * BITS_PER_LONG / 8 + 4)

#ifndef __ASSEMBLER__

#include "kernel.h"
#include <asm/percpu.h>

struct task_struct;
struct mm_struct;
struct pt_regs;

struct thread_info {
	struct task_struct *task;
	unsigned long flags;	/* TIF_ bits */
	unsigned int cpu;	/* CPU this task runs on or ran on last */
	int preempt_count;	/* 0: may be preempted */
};

/*
 * Numbers that the simulator reads by their names are enumerators, which the debugging information
 * carries. A compiler drops an enumeration of which the code uses no name.
 */

/* task_struct.state */
enum task_state {
	TASK_RUNNING = 0,
	TASK_INTERRUPTIBLE = 1,
	TASK_UNINTERRUPTIBLE = 2,
	TASK_DEAD = 64,
};

/*
 * thread_info.preempt_count: how often preemption is disabled, in a kernel that has it; an addition for
 * each interrupt being served; and whether the task is being preempted.
 */
enum preempt_count {
	HARDIRQ_OFFSET = 0x10000,
	HARDIRQ_MASK = 0x3ff0000,
	PREEMPT_ACTIVE = 0x10000000,
};

#define PF_KTHREAD 0x200000

struct task_struct {
	volatile long state;	/* TASK_; sched_pick runs only TASK_RUNNING ones */
	void *stack;		/* lowest address; holds the thread_info */
	unsigned int flags;	/* PF_ */
	int on_cpu;		/* 1 while its registers are in a CPU */
	int pid;
	int exit_code;
	struct thread_struct thread;
#ifdef USERPROBES
	unsigned long unused;	/* the member mm is below, as it may be NULL for a user task, too */
#else
	struct mm_struct *mm;	/* what user mode reaches; NULL for kernel threads */
#endif
	unsigned long switches;	/* how often it was switched to */
	char comm[16];
	int rcu_tasks_holdout;	/* a grace period waits until it has scheduled of its own will */
#ifdef USERPROBES
	struct mm_struct *mm;	/* its address space; NULL: the kernel's */
#endif
#if ERA_RETHOOK
	struct hlist_node *hooks; /* return instances in use, the newest first */
	unsigned long entry_hits; /* levels at which a probe at a function's entry is being handled */
#endif
};

DECLARE_PER_CPU(struct task_struct *, current_task);
/* Where the running task's kernel stack is entered; the architecture's set_kernel_stack writes it. */
DECLARE_PER_CPU(unsigned long, kernel_stack);
DECLARE_PER_CPU(unsigned int, cpu_number);
/* Idle task of this CPU; the boot task becomes it. */
DECLARE_PER_CPU(struct task_struct, idle_task);
/* Set while the idle loop halts, interrupts that it takes meanwhile included. */
DECLARE_PER_CPU(int, cpu_in_idle);
/* A grace period waits for this CPU: written by the simulator. */
DECLARE_PER_CPU(int, rcu_wanted);

#include <asm/current.h>

/* The architecture may have its own ways to the running task and to the number of the CPU. */
#ifdef current
#elif ERA_UNIPROCESSOR
#define current (current_thread_info()->task)
#else
#define current percpu_read(current_task)
#endif

static inline struct thread_info *task_thread_info(struct task_struct *t)
{
	return t->stack;
}

#ifndef smp_processor_id
#define smp_processor_id() percpu_read(cpu_number)
#endif
#define in_interrupt() (current_thread_info()->preempt_count & HARDIRQ_MASK)

static inline int need_resched(void)
{
	return unlikely(READ_VOLATILE(current_thread_info()->flags) & _TIF_NEED_RESCHED);
}

/*
 * Prepares a task that the simulator allocated (task zeroed, stack of THREAD_SIZE bytes) so that
 * the first switch to it calls fn(arg) with interrupts on. When fn returns, the task is dead.
 */
void kthread_setup(struct task_struct *task, void *stack, unsigned long (*fn)(unsigned long),
		   unsigned long arg);
/* Body of native kernel threads: fn for kthread_setup, arg is the id. */
unsigned long native_thread_loop(unsigned long id);
/* Gives up the CPU: asks sched_pick and switches to what it names. */
void schedule(void);
/* Called in every timer interrupt when not null: code to be probed there. */
extern unsigned long (*tick_hook)(unsigned long a, unsigned long b);
/* Calls schedule() when TIF_NEED_RESCHED is set; nothing is in the middle of anything here. */
int cond_resched(void);
/* Ends the running task. */
void do_exit(long code) __noreturn;
/* Runs for ever: halts the CPU until interrupts make another task runnable. */
void cpu_idle(void) __noreturn;
/* Called with the switched-out task when it is dead. */
void kprobe_flush_task(struct task_struct *task);

#endif /* __ASSEMBLER__ */
#endif
