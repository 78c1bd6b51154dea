/* Switching tasks, starting and ending them, and idling. */
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <asm/processor.h>

DEFINE_PER_CPU(struct task_struct *, current_task);
DEFINE_PER_CPU(unsigned long, kernel_stack);
DEFINE_PER_CPU(struct task_struct, idle_task);

struct task_struct *switch_to_asm(struct task_struct *prev, struct task_struct *next,
				  unsigned long sp_offset);
void kthread_entry(void);

void kthread_setup(struct task_struct *task, void *stack, unsigned long (*fn)(unsigned long),
		   unsigned long arg)
{
	unsigned long top = (unsigned long)stack + THREAD_SIZE - KERNEL_STACK_OFFSET;
	struct switch_frame *frame = (struct switch_frame *)(top & ~15UL) - 1;
	struct thread_info *info = stack;

	*info = (struct thread_info){ .task = task };
	*frame = (struct switch_frame){
		.fn = (unsigned long)fn, .arg = arg, .ip = (unsigned long)kthread_entry,
	};
	task->stack = stack;
	task->flags |= PF_KTHREAD;
	task->thread.sp = (unsigned long)frame;
}

/* The first thing after a switch, on the new task's stack. */
static void finish_task_switch(struct task_struct *prev)
{
	prev->on_cpu = 0;
	if (prev->state == TASK_DEAD)
		kprobe_flush_task(prev);
}

void context_switch(struct task_struct *prev, struct task_struct *next)
{
	unsigned long top = (unsigned long)next->stack + THREAD_SIZE;

	next->on_cpu = 1;
	next->switches++;
	task_thread_info(next)->cpu = smp_processor_id();
	percpu_write(current_task, next);
	percpu_write(kernel_stack, top - KERNEL_STACK_OFFSET);
	load_sp0(top);
	prev = switch_to_asm(prev, next, offsetof(struct task_struct, thread.sp));
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

	current_thread_info()->flags &= ~(unsigned long)_TIF_NEED_RESCHED;
	next = sched_pick(prev);
	if (likely(next != prev))
		context_switch(prev, next);
	local_irq_restore(flags);
}

__used int cond_resched(void)
{
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

void cpu_idle(void)
{
	for (;;) {
		local_irq_disable();
		if (need_resched()) {
			local_irq_enable();
			schedule();
		} else {
			/* The instruction after sti is not interrupted. */
			asm volatile("sti\n\thlt" ::: "memory");
		}
	}
}
