/*
 * Work for every CPU. One CPU at a time has others work: it posts what is to be done, interrupts them,
 * does its own part, and keeps the post until every other one has answered.
 */
#include <linux/guest.h>

unsigned int cpus_online = 1;

static DEFINE_SPINLOCK(post_lock);

/* In a cache line of its own: the poster writes it, all read it, and each answer is a write of it. */
static struct post {
	cpu_work *work;
	void *arg;
	unsigned int unanswered;
} post ____cacheline_aligned;

/* This CPU's own part, as quiet as an interrupt makes the others' parts. */
static void part_here(cpu_work *work, void *arg)
{
	unsigned long flags = local_irq_save();

	work(arg);
	local_irq_restore(flags);
}

static void post_to_all(cpu_work *work, void *arg)
{
	spin_lock(&post_lock);
	post.work = work;
	post.arg = arg;
	WRITE_VOLATILE(post.unanswered, cpus_online - 1);
	smp_send_call_function();
	part_here(work, arg);
	while (READ_VOLATILE(post.unanswered))
		cpu_relax();
	spin_unlock(&post_lock);
}

__used void on_each_cpu(cpu_work *work, void *arg)
{
	if (cpus_online > 1)
		post_to_all(work, arg);
	else
		part_here(work, arg);
}

void smp_answer_call(void)
{
	post.work(post.arg);
	atomic_dec(&post.unanswered);
}
