/*
 * Return instances of later kernels. The ones in use are on a list of the running task, which no other
 * task touches: it needs no lock. The free ones of a probe are in a pool, from which any CPU takes and to
 * which any CPU gives, without locks too.
 */
#include <linux/rethook.h>

#if ERA_RETHOOK
/* Nobody looks at the instance. Somebody may begin to once the pool counts as a reader, and must find what is behind it
   by then: the compiler keeps the order of volatile stores alone. */
__kretprobe void into_pool(struct return_hook *hook, struct kretprobe_instance *ri)
{
	do {
		struct hlist_node *first = READ_VOLATILE(hook->pool);

		WRITE_VOLATILE(ri->hlist.next, first);
		WRITE_VOLATILE(ri->readers, 1);
		if (exchange_link(&hook->pool, first, &ri->hlist))
			return;
	} while (add_readers(ri, IN_POOL - 1) == 1);
}

static __always_inline void give_instance(struct return_hook *hook, struct kretprobe_instance *ri)
{
	if (add_readers(ri, IN_POOL) == 0)
		into_pool(hook, ri);
}

/* Counts the caller as a reader of an instance that is in the pool now. */
static __always_inline int read_instance(struct kretprobe_instance *ri)
{
	int count = READ_VOLATILE(ri->readers);

	return (count & COUNT_MASK) &&
	       __atomic_compare_exchange_n(&ri->readers, &count, count + 1, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static __kretprobe struct kretprobe_instance *take_instance(struct return_hook *hook)
{
	struct hlist_node *first;

	while ((first = READ_VOLATILE(hook->pool))) {
		struct kretprobe_instance *ri = instance_at(first);

		if (!read_instance(ri))
			continue;
		if (exchange_link(&hook->pool, first, READ_VOLATILE(first->next))) {
			add_readers(ri, -2);
			return ri;
		}
		if (add_readers(ri, -1) == IN_POOL + 1)
			into_pool(hook, ri);
	}
	return NULL;
}

/* The last instance of a probe that is gone takes what held them together with it. */
static __kretprobe void free_instance(struct kretprobe_instance *ri, struct return_hook *hook)
{
	kfree(ri);
	if (atomic_dec_and_test(&hook->instances))
		kfree(hook);
}

static __kretprobe void end_instance(struct kretprobe_instance *ri)
{
	struct return_hook *hook = ri->hook;

	if (likely(READ_VOLATILE(hook->rp)))
		give_instance(hook, ri);
	else
		free_instance(ri, hook);
}

/* The entry of a return probed function: its return is led to the trampoline. */
__kretprobe int return_probe_entered(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_instance *ri = take_instance(rp->hook);

	if (unlikely(!ri)) {
		rp->nmissed++;
		return 0;
	}
	ri->rp = rp;
	ri->task = current;
	if (rp->entry_handler && rp->entry_handler(ri, regs)) {
		end_instance(ri);
		return 0;
	}
	divert_return(ri, regs);
	ri->hlist.next = current->hooks;
	current->hooks = &ri->hlist;
	return 0;
}

/* An instance whose probe is gone has no handler. */
static __kretprobe void call_return_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = READ_VOLATILE(ri->hook->rp);

	ri->rp = rp;
	if (rp && rp->handler)
		handle_return(rp, ri, regs);
}

/* Several instances of one call lead from one to the next by the trampoline. The last one knows better. */
static __kretprobe struct hlist_node *last_of_call(void)
{
	const kprobe_opcode_t *trampoline = (kprobe_opcode_t *)kretprobe_trampoline;
	struct hlist_node *at = current->hooks;

	while (at && instance_at(at)->ret_addr == trampoline)
		at = at->next;
	if (likely(at))
		return at;
	klog("rethook: Return address not found! Maybe there is a bug in the kernel\n");
	BUG();
}

/* The instances come home when all handlers are done: one of them may look at the list. */
static __kretprobe void end_call(struct hlist_node *last)
{
	struct hlist_node *at = current->hooks, *end = last->next;

	current->hooks = end;
	while (at != end) {
		struct hlist_node *next = at->next;

		end_instance(instance_at(at));
		at = next;
	}
}

/* A return probed function has come to the trampoline, whose frame ends where it is to return to. */
__kretprobe __used void function_returned(struct pt_regs *regs)
{
	struct hlist_node *last = last_of_call(), *at = current->hooks;

	return_frame(regs, (unsigned long)instance_at(last)->ret_addr);
	preempt_disable();
	for (;; at = at->next) {
		call_return_handler(instance_at(at), regs);
		if (at == last)
			break;
	}
	end_call(last);
	end_return_frame(regs);
	preempt_enable();
}

/* A dead task never returns from the functions it was in. */
void kprobe_flush_task(struct task_struct *task)
{
	struct hlist_node *at = task->hooks;

	task->hooks = NULL;
	while (at) {
		struct hlist_node *next = at->next;

		end_instance(instance_at(at));
		at = next;
	}
}
#endif
