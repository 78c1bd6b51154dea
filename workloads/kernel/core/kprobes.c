/*
 * Probe hits, the part that is the same on every processor: finding a probe by its address, the
 * several probes of an address, the handlers of a detour, return instances. Registration is the
 * simulator's.
 */
#include <linux/hit.h>

struct hlist_head probe_table[HIT_BUCKETS];
#if !ERA_RETHOOK
struct hlist_head instance_table[HIT_BUCKETS];
#endif

int switch_boost = 1;
int switch_jumps = 1;
int switch_disarmed;

#if ERA_GLOBAL_HIT
struct hit_record the_hit;
spinlock_t hit_lock = SPIN_LOCK_UNLOCKED;
unsigned int hit_cpu = NO_CPU;

/*
 * The one lock of August 2005. The breakpoint's handler takes it, the step's handler drops it. The CPU
 * that has it says so behind it, which is how a CPU knows that it is in the middle of a hit.
 */
__dispatch void begin_hits(void)
{
	if (ERA_UNIPROCESSOR)
		preempt_disable();
	else
		lock_take_for_hit(&hit_lock);
	WRITE_VOLATILE(hit_cpu, smp_processor_id());
}

__dispatch void end_hits(void)
{
	WRITE_VOLATILE(hit_cpu, NO_CPU);
	spin_unlock(&hit_lock);
}
#else
DEFINE_PER_CPU(struct hit_record, hit_record);
#endif

__dispatch struct kprobe *find_probe(const void *addr)
{
	const struct hlist_head *bucket = &probe_table[hash_ptr(addr, HIT_HASH_BITS)];
	struct kprobe *found = NULL;
	struct hlist_node *at;

	walk_chain(at, bucket) {
		found = container_of(at, struct kprobe, hlist);
		if (found->addr == addr)
			return found;
	}
	return NULL;
}

struct kprobe *kprobe_running(void)
{
	struct hit_record *r = this_hit();

	return hit_under_way(r) ? r->now.probe : NULL;
}

static __always_inline struct kprobe *child_at(struct list_head *link)
{
	return container_of(link, struct kprobe, list);
}

/* All probes of the address have missed it. */
__dispatch void count_missed(struct kprobe *p)
{
	struct list_head *at;

	if (p->pre_handler == group_before) {
		walk_ring(at, &p->list)
			child_at(at)->nmissed++;
	} else {
		p->nmissed++;
	}
}

/*
 * Several probes at one address: each child's handler in turn, the last one registered first. A child
 * that answers nonzero has taken over, and stays the current one: a jprobe's way back leads to it.
 */
__dispatch int group_before(struct kprobe *p, struct pt_regs *regs)
{
	struct hit_record *r = this_hit();
	struct list_head *at;

	walk_ring(at, &p->list) {
		struct kprobe *child = child_at(at);

		if (!child->pre_handler || !probe_enabled(child))
			continue;
		r->child = child;
		if (child->pre_handler(child, regs))
			return 1;
		r->child = NULL;
	}
	return 0;
}

__dispatch void group_after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct hit_record *r = this_hit();
	struct list_head *at;

	walk_ring(at, &p->list) {
		struct kprobe *child = child_at(at);

		if (!child->post_handler || !probe_enabled(child))
			continue;
		r->child = child;
		child->post_handler(child, regs, flags);
		r->child = NULL;
	}
}

/* A fault is the business of the child whose handler was running, and of no other. */
__dispatch int group_fault(struct kprobe *p __unused, struct pt_regs *regs, int trapnr)
{
	struct kprobe *child = this_hit()->child;

	if (!child || !child->fault_handler)
		return 0;
	return child->fault_handler(child, regs, trapnr);
}

__dispatch int group_break(struct kprobe *p __unused, struct pt_regs *regs)
{
	struct hit_record *r = this_hit();
	struct kprobe *child = r->child;
	int claimed = child && child->break_handler && child->break_handler(child, regs);

	r->child = NULL;
	return claimed;
}

#if ERA_OPTIMIZE
/* A handler cannot change where a detour leads: what it answers means nothing. */
__detour void detour_handlers(struct kprobe *p, struct pt_regs *regs)
{
	struct hit_record *r = this_hit();
	struct list_head *at;

	walk_ring(at, &p->list) {
		struct kprobe *child = child_at(at);

		if (!child->pre_handler || !probe_enabled(child))
			continue;
		r->child = child;
		child->pre_handler(child, regs);
		r->child = NULL;
	}
}
#endif

#if !ERA_RETHOOK
/*
 * Who guards the return instances. In 2005 a hit holds the lock of all hits, and whoever is in none
 * takes it. In 2006 there is one lock for all instances. In 2010 each bucket has one for the instances
 * in use, and each probe one for its free ones. The functions lie where a hit's time is booked on the hit.
 */
#define SPLIT_LOCKS (!ERA_GLOBAL_HIT && !ERA_RETURN_LOCK)

#if ERA_GLOBAL_HIT
unsigned long lock_instances(unsigned long bucket __unused)
{
	unsigned long flags = local_irq_save();

	begin_hits();
	return flags;
}

void unlock_instances(unsigned long bucket __unused, unsigned long flags)
{
	end_hits();
	local_irq_restore(flags);
}
#elif ERA_UNIPROCESSOR
static __always_inline unsigned long lock_instances(unsigned long bucket __unused)
{
	return local_irq_save();
}

static __always_inline void unlock_instances(unsigned long bucket __unused, unsigned long flags)
{
	local_irq_restore(flags);
}
#else
static struct {
	spinlock_t lock;
} ____cacheline_aligned instance_locks[ERA_RETURN_LOCK ? 1 : HIT_BUCKETS];

static __kretprobe unsigned long guard_quietly(spinlock_t *lock)
{
	unsigned long flags = local_irq_save();

	preempt_disable();
	arch_spin_lock(lock);
	return flags;
}

static __kretprobe void unguard_quietly(spinlock_t *lock, unsigned long flags)
{
	arch_spin_unlock(lock);
	local_irq_restore(flags);
	preempt_enable();
}

unsigned long lock_instances(unsigned long bucket);
void unlock_instances(unsigned long bucket, unsigned long flags);

__kretprobe unsigned long lock_instances(unsigned long bucket)
{
	return guard_quietly(&instance_locks[ERA_RETURN_LOCK ? 0 : bucket].lock);
}

__kretprobe void unlock_instances(unsigned long bucket, unsigned long flags)
{
	unguard_quietly(&instance_locks[ERA_RETURN_LOCK ? 0 : bucket].lock, flags);
}
#endif

/* The same inside of a hit. */
static __always_inline unsigned long guard_instances(unsigned long bucket)
{
	return ERA_GLOBAL_HIT ? 0 : lock_instances(bucket);
}

static __always_inline void unguard_instances(unsigned long bucket, unsigned long flags)
{
	if (!ERA_GLOBAL_HIT)
		unlock_instances(bucket, flags);
}

static __always_inline unsigned long bucket_of(const struct task_struct *task)
{
	return hash_ptr(task, HIT_HASH_BITS);
}

static __always_inline struct kretprobe_instance *instance_at(struct hlist_node *member)
{
	return container_of(member, struct kretprobe_instance, hlist);
}

/* An instance for the running task, or NULL: a call that finds none is not probed. */
static __always_inline struct kretprobe_instance *take_instance(struct kretprobe *rp)
{
	struct hlist_node *first = rp->free_instances.first;
	struct kretprobe_instance *ri = instance_at(first);

	if (unlikely(!first)) {
		rp->nmissed++;
		return NULL;
	}
	chain_leave(first);
	ri->rp = rp;
	ri->task = current;
	return ri;
}

static __always_inline void use_instance(struct kretprobe_instance *ri, unsigned long bucket)
{
	chain_push(&instance_table[bucket], &ri->hlist);
#if ERA_USED_CHAIN
	chain_push(&ri->rp->used_instances, &ri->used);
#endif
}

/* The breakpoint at the entry of a return probed function: its return is led to the trampoline. */
#if SPLIT_LOCKS
__kretprobe int return_probe_entered(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	unsigned long bucket = bucket_of(current);
	unsigned long flags = guard_quietly(&rp->lock);
	struct kretprobe_instance *ri = take_instance(rp);

	unguard_quietly(&rp->lock, flags);
	if (!ri)
		return 0;
	/* A refusal loses the instance, as in kernels of the year. */
	if (rp->entry_handler && rp->entry_handler(ri, regs))
		return 0;
	divert_return(ri, regs);
	flags = lock_instances(bucket);
	use_instance(ri, bucket);
	unlock_instances(bucket, flags);
	return 0;
}
#else
__kretprobe int return_probe_entered(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long bucket = bucket_of(current);
	unsigned long flags = guard_instances(bucket);
	struct kretprobe_instance *ri = take_instance(container_of(p, struct kretprobe, kp));

	if (ri) {
		divert_return(ri, regs);
		use_instance(ri, bucket);
	}
	unguard_instances(bucket, flags);
	return 0;
}
#endif

#if SPLIT_LOCKS
static __kretprobe void lock_free_instances(spinlock_t *lock)
{
	preempt_disable();
	arch_spin_lock(lock);
}
#endif

/* An instance is done. One whose probe has been unregistered is nobody's, and freed without a lock. */
static __kretprobe void end_instance(struct kretprobe_instance *ri, struct hlist_head *orphans)
{
	struct kretprobe *rp = ri->rp;

	chain_leave(&ri->hlist);
	if (unlikely(!rp)) {
		chain_push(orphans, &ri->hlist);
		return;
	}
#if ERA_USED_CHAIN
	chain_leave(&ri->used);
#endif
#if SPLIT_LOCKS
	lock_free_instances(&rp->lock);
	chain_push(&rp->free_instances, &ri->hlist);
	spin_unlock(&rp->lock);
#else
	chain_push(&rp->free_instances, &ri->hlist);
#endif
}

static __always_inline void free_orphans(struct hlist_head *orphans)
{
	while (unlikely(orphans->first)) {
		struct kretprobe_instance *ri = instance_at(orphans->first);

		chain_leave(&ri->hlist);
		kfree(ri);
	}
}

static __always_inline void call_return_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kretprobe *rp = ri->rp;

	if (!rp || !rp->handler)
		return;
	if (ERA_RETURN_TRAP)
		rp->handler(ri, regs); /* the hit of the trampoline's own probe is under way */
	else
		handle_return(rp, ri, regs);
}

/* The return address is gone. Kernels of 2010 name the probe that they found last. */
static __noreturn void lost_return(const struct kretprobe_instance *last)
{
	if (ERA_CHAIN_CALLS == 3 && last && last->rp)
		klog("kretprobe BUG!: Processing kretprobe %p @ %p\n", last->rp, last->rp->kp.addr);
	BUG();
}

/*
 * A return probed function has come to the trampoline. The instances of the task are in its bucket, the
 * newest first. Several of one call lead from one to the next by the trampoline; the last of them
 * knows the return address, which is the result.
 */
__kretprobe __used unsigned long function_returned(struct pt_regs *regs)
{
	const unsigned long trampoline = (unsigned long)kretprobe_trampoline;
	unsigned long bucket = bucket_of(current), back = trampoline;
	unsigned long flags = guard_instances(bucket);
	struct kretprobe_instance *ri = NULL;
	struct hlist_head orphans = { NULL };
	struct hlist_node *at, *next;

	if (!ERA_RETURN_TRAP)
		complete_frame(regs, trampoline);
	for (at = instance_table[bucket].first; at && back == trampoline; at = next) {
		next = at->next;
		if (instance_at(at)->task != current)
			continue;
		ri = instance_at(at);
		call_return_handler(ri, regs);
		back = (unsigned long)ri->ret_addr;
		end_instance(ri, &orphans);
	}
	if (unlikely(back == trampoline))
		lost_return(ri);
	unguard_instances(bucket, flags);
	free_orphans(&orphans);
	return back;
}

/* A dead task never returns from the functions it was in. */
void kprobe_flush_task(struct task_struct *task)
{
	unsigned long bucket = bucket_of(task), flags = lock_instances(bucket);
	struct hlist_head orphans = { NULL };
	struct hlist_node *at, *next;

	for (at = instance_table[bucket].first; at; at = next) {
		next = at->next;
		if (instance_at(at)->task == task)
			end_instance(instance_at(at), &orphans);
	}
	unlock_instances(bucket, flags);
	free_orphans(&orphans);
}
#endif
