/*
 * Handlers that do what few do: they change registers, the way of execution or a result, or tell what they
 * were called with. Tests attach them, and experiments do not. They lie behind everything that is measured.
 */
#include <linux/file.h>
#include <linux/guest.h>
#include <linux/hit.h>
#include <linux/kprobes.h>
#include <linux/workload.h>

#define __rare __kprobes_late __used

/* What a handler saw or was called with. */
DECLARE_PER_CPU(unsigned long, handler_last_value);
/* Where handler_divert leads, written by the simulator: the address of code. */
__late_data unsigned long handler_divert_to = 0;

__rare int handler_sees_probe(struct kprobe *p, struct pt_regs *regs __unused)
{
	percpu_write(handler_last_value, (unsigned long)p);
	return 0;
}

/* At a function's entry: it is called with another first argument. */
__rare int handler_changes_argument(struct kprobe *p __unused, struct pt_regs *regs)
{
	regs_set_first_argument(regs, regs_first_argument(regs) + 3);
	return 0;
}

/* Execution goes on elsewhere. The hit stays open, which is the user's to end. */
__rare int handler_divert(struct kprobe *p __unused, struct pt_regs *regs)
{
	instruction_pointer_set(regs, handler_divert_to);
	return 1;
}

/* What a handler does that leads elsewhere for good: another hit may come. */
__rare void handler_ends_hit(void)
{
	close_hit(this_hit());
}

__rare int handler_divert_and_end(struct kprobe *p, struct pt_regs *regs)
{
	handler_divert(p, regs);
	handler_ends_hit();
	return 1;
}

__rare void post_sees_flags(struct kprobe *p __unused, struct pt_regs *regs __unused, unsigned long flags)
{
	percpu_write(handler_last_value, flags);
}

__rare int fault_sees_number(struct kprobe *p __unused, struct pt_regs *regs __unused, int trapnr)
{
	percpu_write(handler_last_value, (unsigned long)trapnr);
	return 0;
}

/* The function returns another value, and the handler's own says nothing. */
__rare int ret_changes_value(struct kretprobe_instance *ri __unused, struct pt_regs *regs)
{
	regs_set_return_value(regs, regs_return_value(regs) + 5);
	return 1;
}

/* What entry_argument has left, if the instance is this task's and this probe's. */
__rare int ret_sees_instance(struct kretprobe_instance *ri, struct pt_regs *regs __unused)
{
	if (ri->task == current && ri->rp->handler == ret_sees_instance)
		percpu_write(handler_last_value, *(unsigned long *)ri->data);
	return 0;
}

/* The same of the return address. */
__rare int ret_sees_address(struct kretprobe_instance *ri, struct pt_regs *regs __unused)
{
	percpu_write(handler_last_value, (unsigned long)ri->ret_addr);
	return 0;
}

#define kernel_file(c) file_call((unsigned long)(c), 0)

/* A kernel thread that reads a file until it is told to end. */
__last unsigned long rare_reads_file(unsigned long at)
{
	struct file_reader *r = (struct file_reader *)at;
	struct file_call c;

	while (!READ_VOLATILE(r->over) && READ_FILE(r, &c, kernel_file))
		schedule_timeout(1);
	return r->rounds;
}

/* Counts the calls of an entry handler, apart from those of others. */
__last int entry_counts(struct kretprobe_instance *ri __unused, struct pt_regs *regs __unused)
{
	percpu_add(handler_last_value, 1);
	return 0;
}

/* Traps that are no page faults, one after the other; each goes on behind itself by the exception table. */
__late_data unsigned long rare_trap = 0;

__last int handler_traps(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	raise_trap(rare_trap);
	return 0;
}
