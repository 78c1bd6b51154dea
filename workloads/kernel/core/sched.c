/* Switching tasks, starting and ending them, and idling. */
#include <linux/guest.h>
#include <linux/mm.h>

DEFINE_PER_CPU(struct task_struct *, current_task);
DEFINE_PER_CPU(unsigned long, kernel_stack);
DEFINE_PER_CPU(struct task_struct, idle_task);
DEFINE_PER_CPU(int, cpu_in_idle);
DEFINE_PER_CPU(int, rcu_wanted);

_Static_assert(offsetof(struct thread_info, flags) == TI_FLAGS, "sched.h");
_Static_assert(offsetof(struct thread_info, preempt_count) == TI_PREEMPT_COUNT, "sched.h");

struct task_struct *__switch_to(struct task_struct *prev, struct task_struct *next,
				  unsigned long sp_offset);

void kthread_setup(struct task_struct *task, void *stack, unsigned long (*fn)(unsigned long),
		   unsigned long arg)
{
	struct switch_frame *frame = first_frame((unsigned long)stack + THREAD_SIZE);
	struct thread_info *info = stack;

	*info = (struct thread_info){ .task = task };
	*frame = (struct switch_frame)FIRST_FRAME(fn, arg);
	task->stack = stack;
	task->flags |= PF_KTHREAD;
	task->thread.sp = (unsigned long)frame;
}

/* The first thing after a switch, on the new task's stack. */
static void finish_task_switch(struct task_struct *prev)
{
	if (prev->state == TASK_DEAD)
		kprobe_flush_task(prev);
	/* From here on another CPU may run it, or what takes its memory. It finds what was saved. */
	atomic_publish();
	WRITE_VOLATILE(prev->on_cpu, 0);
}

void context_switch(struct task_struct *prev, struct task_struct *next)
{
	unsigned long top = (unsigned long)next->stack + THREAD_SIZE;

	next->on_cpu = 1;
	next->switches++;
	task_thread_info(next)->cpu = smp_processor_id();
	percpu_write(current_task, next);
	set_kernel_stack(top);
	set_exception_stack(top);
	change_space(prev, next);
	prev = __switch_to(prev, next, offsetof(struct task_struct, thread.sp));
	finish_task_switch(prev);
}

/* New tasks come here instead of returning from context_switch. */
__used void schedule_tail(struct task_struct *prev)
{
	finish_task_switch(prev);
	local_irq_enable();
}

void schedule(void)
{
	unsigned long flags = local_irq_save();
	struct task_struct *prev = current, *next;

	/* Other CPUs set flags in the same word. */
	atomic_clear_bit(TIF_NEED_RESCHED, &current_thread_info()->flags);
	next = sched_pick(prev, irqs_disabled_flags(flags));
	if (likely(next != prev))
		context_switch(prev, next);
	local_irq_restore(flags);
}

__used int cond_resched(void)
{
	if (unlikely(READ_VOLATILE(current->rcu_tasks_holdout)))
		rcu_tasks_quiescent();
	if (!need_resched())
		return 0;
	schedule();
	return 1;
}

__used void do_exit(long code)
{
	current->exit_code = code;
	current->state = TASK_DEAD;
	schedule();
	panic_at("a dead task runs: pid", current->pid);
}

__used unsigned long native_thread_loop(unsigned long id)
{
	for (;;) {
		switch (native_thread(id)) {
		case 0:
			cond_resched();
			break;
		case 1:
			schedule();
			break;
		default:
			return 0;
		}
	}
}

#ifdef PREEMPT
/*
 * The running task gives way. It counts as preempted from before interrupts are on: the tick of an interrupt that strikes
 * then does not preempt it once more, and schedule() leaves it runnable whatever its state says.
 */
static __always_inline void give_way(int struck)
{
	struct thread_info *info = current_thread_info();

	do {
		info->preempt_count += PREEMPT_ACTIVE;
		if (struck)
			local_irq_enable();
		schedule();
		if (struck)
			local_irq_disable();
		info->preempt_count -= PREEMPT_ACTIVE;
		barrier();
	} while (need_resched());
}

/* Preemption has just been enabled and another task is to run. */
__used void preempt_schedule(void)
{
	if (!current_thread_info()->preempt_count && !irqs_disabled())
		give_way(0);
}

/* The same at the end of an interrupt that struck where preemption was enabled; interrupts are off. */
__used void preempt_schedule_irq(void)
{
	give_way(1);
}

__used void preempt_check(void)
{
	if (need_resched())
		preempt_schedule();
}
#endif

/* Runs with preemption disabled but for this. */
static __idle void idle_schedule(void)
{
	local_irq_enable();
	preempt_enable_no_resched();
	schedule();
	preempt_disable();
}

__idle void cpu_idle(void)
{
	for (;;) {
		local_irq_disable();
		if (need_resched()) {
			idle_schedule();
			continue;
		}
		percpu_write(cpu_in_idle, 1);
		/* Who wants a grace period writes rcu_wanted and then reads cpu_in_idle: one of the two sees
		   the other's store. */
		atomic_fence();
		if (unlikely(percpu_read(rcu_wanted))) {
			/* It has taken time, in which a task may have become runnable: check again. */
			rcu_quiescent();
			percpu_write(cpu_in_idle, 0);
			continue;
		}
		safe_halt();
		percpu_write(cpu_in_idle, 0);
	}
}
