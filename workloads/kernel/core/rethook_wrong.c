/*
 * Wrong ways of taking an instance from the pool, which the search for races has to notice. No kernel does this.
 * What is right is in rethook.c.
 */
#include <linux/rethook.h>

#if ERA_RETHOOK
enum mistake {
	/* No reader is counted: the first instance may have left and come back, with another one behind it. */
	NOT_COUNTED,
	/* Whoever comes too late puts the instance into the pool, although somebody else has it. */
	PUT_BACK,
};

static __always_inline struct kretprobe_instance *take_by(struct return_hook *hook, enum mistake how)
{
	for (;;) {
		struct hlist_node *top = READ_VOLATILE(hook->pool);
		struct kretprobe_instance *found = top ? instance_at(top) : NULL;

		if (!found)
			return NULL;
		if (how == PUT_BACK)
			add_readers(found, 1);
		if (!exchange_link(&hook->pool, top, READ_VOLATILE(top->next))) {
			if (how == PUT_BACK)
				into_pool(hook, found);
			continue;
		}
		WRITE_VOLATILE(found->readers, 0);
		return found;
	}
}

/* The scenarios' return probes have no entry handler. */
static __always_inline int enter_by(enum mistake how, struct kprobe *probe, struct pt_regs *frame)
{
	struct kretprobe *whole = container_of(probe, struct kretprobe, kp);
	struct kretprobe_instance *mine = take_by(whole->hook, how);

	if (mine) {
		mine->task = current;
		mine->rp = whole;
		divert_return(mine, frame);
		mine->hlist.next = mine->task->hooks;
		mine->task->hooks = &mine->hlist;
	} else {
		whole->nmissed++;
	}
	return 0;
}

__wrong int return_probe_unread(struct kprobe *probe, struct pt_regs *frame)
{
	return enter_by(NOT_COUNTED, probe, frame);
}

__wrong int return_probe_twice(struct kprobe *probe, struct pt_regs *frame)
{
	return enter_by(PUT_BACK, probe, frame);
}
#endif
