/* From the first C function to the run. */
#include <linux/guest.h>
#include <asm/string.h>

extern char idle_stack[];
void kprobes_init(void);
int arch_init_kprobes(void);
void work_init(void);
void context_switch(struct task_struct *prev, struct task_struct *next);

/* The task that hands the run to the simulator: the guest's pid 1. */
struct task_struct init_task = { .pid = 1, .comm = "init" };
static char init_stack[THREAD_SIZE] __aligned(THREAD_SIZE);

static unsigned long kernel_init(unsigned long cpu __unused)
{
#if ERA_RETURN_TRAP
#ifndef NO_KPROBES
	BUG_ON(arch_init_kprobes());
#endif
#endif
	sim_main();
	return 0;
}

/* The boot flow of control becomes the CPU's idle task, which only runs when nothing else does. */
static struct task_struct *adopt_idle_task(unsigned long cpu, unsigned long base)
{
	struct task_struct *t = per_cpu_ptr_of(idle_task, base);

	t->stack = (void *)(base + (unsigned long)idle_stack);
	t->comm[0] = 'i';
	t->comm[1] = 'd';
	t->comm[2] = 'l';
	t->comm[3] = 'e';
	t->on_cpu = 1;
	*task_thread_info(t) = (struct thread_info){ .task = t, .cpu = cpu };
	percpu_write(current_task, t);
	set_kernel_stack((unsigned long)t->stack + THREAD_SIZE);
	return t;
}

/* Every CPU comes here from its first instructions; the first one initializes what all share. */
__used void start_kernel(unsigned long cpu, unsigned long base)
{
	struct task_struct *idle;

	if (cpu == 0)
		traps_init();
	cpu_init(cpu, base);
	idle = adopt_idle_task(cpu, base);
	preempt_disable();
	interrupts_init();
	if (cpu == 0) {
		kprobes_init();
		work_init();
		kthread_setup(&init_task, init_stack, kernel_init, cpu);
		context_switch(idle, &init_task);
	} else {
		unsigned long period;

		atomic_inc(&cpus_online);
		period = sim_cpu_online(cpu);
		if (period)
			timer_start(period, 1);
	}
	cpu_idle();
}

/* What GCC may call for copies and clears it does not expand. */
__used void *memcpy(void *to, const void *from, size_t n)
{
	copy_bytes(to, from, n);
	return to;
}

__used void *memset(void *to, int c, size_t n)
{
	fill_bytes(to, c, n);
	return to;
}
