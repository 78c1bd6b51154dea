/*
 * Kprobes, the part that is the same on every processor: finding the probe of an address,
 * aggregates (several probes at one address), jump optimized probes, return instances. Everything
 * here is part of a hit; registration is the simulator's.
 */
#include <linux/era.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/sched.h>

DEFINE_PER_CPU(struct kprobe *, kprobe_instance);

struct hlist_head kprobe_table[KPROBE_TABLE_SIZE];
struct hlist_head kretprobe_inst_table[KPROBE_TABLE_SIZE];
struct kretprobe_table_lock kretprobe_table_locks[KPROBE_TABLE_SIZE];

int kprobe_boost_allowed = 1;
int kprobes_all_disarmed;
int kprobes_allow_optimization = 1;

__dispatch struct kprobe *get_kprobe(void *addr)
{
	struct hlist_head *head = &kprobe_table[hash_ptr(addr, KPROBE_HASH_BITS)];
	struct hlist_node *node;

	hlist_for_each_rcu(node, head) {
		struct kprobe *p = hlist_entry(node, struct kprobe, hlist);

		if (p->addr == addr)
			return p;
	}
	return NULL;
}

static __always_inline int is_aggregate(const struct kprobe *p)
{
	return p->pre_handler == aggr_pre_handler;
}

/* A hit that runs no handlers counts as missed, for an aggregate on all its children. */
__dispatch void kprobes_inc_nmissed_count(struct kprobe *p)
{
	struct kprobe *kp;

	if (!is_aggregate(p)) {
		p->nmissed++;
		return;
	}
	list_for_each_entry_rcu(kp, &p->list, list)
		kp->nmissed++;
}

/* A child that returns nonzero has taken over: the others are not called and nothing is stepped. */
__dispatch int aggr_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe *kp;

	list_for_each_entry_rcu(kp, &p->list, list) {
		if (kp->pre_handler && likely(!kprobe_disabled(kp))) {
			percpu_write(kprobe_instance, kp);
			if (kp->pre_handler(kp, regs))
				return 1;
		}
		percpu_write(kprobe_instance, (struct kprobe *)NULL);
	}
	return 0;
}

__dispatch void aggr_post_handler(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	struct kprobe *kp;

	list_for_each_entry_rcu(kp, &p->list, list) {
		if (kp->post_handler && likely(!kprobe_disabled(kp))) {
			percpu_write(kprobe_instance, kp);
			kp->post_handler(kp, regs, flags);
			percpu_write(kprobe_instance, (struct kprobe *)NULL);
		}
	}
}

/* Only the child whose handler was running hears of a fault. */
__dispatch int aggr_fault_handler(struct kprobe *p __unused, struct pt_regs *regs, int trapnr)
{
	struct kprobe *cur = percpu_read(kprobe_instance);

	if (cur && cur->fault_handler)
		return cur->fault_handler(cur, regs, trapnr) != 0;
	return 0;
}

__dispatch int aggr_break_handler(struct kprobe *p __unused, struct pt_regs *regs)
{
	struct kprobe *cur = percpu_read(kprobe_instance);
	int ret = 0;

	if (cur && cur->break_handler)
		ret = cur->break_handler(cur, regs) != 0;
	percpu_write(kprobe_instance, (struct kprobe *)NULL);
	return ret;
}

#if ERA_OPTIMIZE
/* Handlers of an optimized probe cannot change where execution goes on: results are ignored. */
__detour void opt_pre_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct kprobe *kp;

	list_for_each_entry_rcu(kp, &p->list, list) {
		if (kp->pre_handler && likely(!kprobe_disabled(kp))) {
			percpu_write(kprobe_instance, kp);
			kp->pre_handler(kp, regs);
		}
		percpu_write(kprobe_instance, (struct kprobe *)NULL);
	}
}

#endif

/*
 * The lock functions of core/lock.c once more: out of line like them, but where the time that a
 * hit spends on locks is booked on the hit.
 */
#if ERA_UNIPROCESSOR
#elif ERA_RETURN_LOCK
/* One lock for all buckets of the table and all lists of free instances. */
__kretprobe unsigned long kretprobe_table_lock(unsigned long hash __unused)
{
	unsigned long flags = local_irq_save();

	arch_spin_lock(&kretprobe_table_locks[0].lock);
	return flags;
}

__kretprobe void kretprobe_table_unlock(unsigned long hash __unused, unsigned long flags)
{
	arch_spin_unlock(&kretprobe_table_locks[0].lock);
	local_irq_restore(flags);
}
#else
static __kretprobe void lock_instances(spinlock_t *lock)
{
	preempt_disable();
	arch_spin_lock(lock);
}

static __kretprobe unsigned long lock_irqsave(spinlock_t *lock)
{
	unsigned long flags = local_irq_save();

	preempt_disable();
	arch_spin_lock(lock);
	return flags;
}

static __kretprobe void unlock_irqrestore(spinlock_t *lock, unsigned long flags)
{
	arch_spin_unlock(lock);
	local_irq_restore(flags);
	preempt_enable();
}

__kretprobe unsigned long kretprobe_table_lock(unsigned long hash)
{
	return lock_irqsave(&kretprobe_table_locks[hash].lock);
}

__kretprobe void kretprobe_table_unlock(unsigned long hash, unsigned long flags)
{
	unlock_irqrestore(&kretprobe_table_locks[hash].lock, flags);
}
#endif

#if ERA_RETURN_LOCK
/* Entry of a return probed function: takes an instance and replaces the return address. */
__kretprobe int pre_handler_kretprobe(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	unsigned long hash = hash_ptr(current, KPROBE_HASH_BITS);
	struct kretprobe_instance *ri;
	unsigned long flags = kretprobe_table_lock(hash);

	if (unlikely(hlist_empty(&rp->free_instances))) {
		rp->nmissed++;
	} else {
		ri = hlist_entry(rp->free_instances.first, struct kretprobe_instance, hlist);
		hlist_del(&ri->hlist);
		ri->rp = rp;
		ri->task = current;
		arch_prepare_kretprobe(ri, regs);
		hlist_add_head(&ri->hlist, &kretprobe_inst_table[hash]);
	}
	kretprobe_table_unlock(hash, flags);
	return 0;
}
#else
/*
 * Entry of a return probed function: takes an instance, lets the user's entry handler veto, and
 * replaces the return address. A veto loses the instance, as it did in these versions.
 */
__kretprobe int pre_handler_kretprobe(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	unsigned long hash = hash_ptr(current, KPROBE_HASH_BITS);
	struct kretprobe_instance *ri;
	unsigned long flags;

	flags = lock_irqsave(&rp->lock);
	if (unlikely(hlist_empty(&rp->free_instances))) {
		rp->nmissed++;
		unlock_irqrestore(&rp->lock, flags);
		return 0;
	}
	ri = hlist_entry(rp->free_instances.first, struct kretprobe_instance, hlist);
	hlist_del(&ri->hlist);
	unlock_irqrestore(&rp->lock, flags);

	ri->rp = rp;
	ri->task = current;
	if (rp->entry_handler && rp->entry_handler(ri, regs))
		return 0;
	arch_prepare_kretprobe(ri, regs);

	INIT_HLIST_NODE(&ri->hlist);
	flags = kretprobe_table_lock(hash);
	hlist_add_head(&ri->hlist, &kretprobe_inst_table[hash]);
	kretprobe_table_unlock(hash, flags);
	return 0;
}

#endif

/* Caller holds the lock of the instance's bucket; what nobody owns is freed after dropping it. */
__kretprobe void recycle_rp_inst(struct kretprobe_instance *ri, struct hlist_head *garbage)
{
	struct kretprobe *rp = ri->rp;

	hlist_del(&ri->hlist);
	INIT_HLIST_NODE(&ri->hlist);
	if (unlikely(!rp)) {
		hlist_add_head(&ri->hlist, garbage);
		return;
	}
#if ERA_RETURN_LOCK
	hlist_add_head(&ri->hlist, &rp->free_instances);
#else
	lock_instances(&rp->lock);
	hlist_add_head(&ri->hlist, &rp->free_instances);
	spin_unlock(&rp->lock);
#endif
}

/* A dead task never returns from the functions it was in. */
void kprobe_flush_task(struct task_struct *task)
{
	unsigned long hash = hash_ptr(task, KPROBE_HASH_BITS);
	struct hlist_head garbage = { NULL };
	struct hlist_node *node, *next;
	unsigned long flags = kretprobe_table_lock(hash);

	for (node = kretprobe_inst_table[hash].first; node; node = next) {
		struct kretprobe_instance *ri = hlist_entry(node, struct kretprobe_instance, hlist);

		next = node->next;
		if (ri->task == task)
			recycle_rp_inst(ri, &garbage);
	}
	kretprobe_table_unlock(hash, flags);
	for (node = garbage.first; node; node = next) {
		next = node->next;
		kfree(hlist_entry(node, struct kretprobe_instance, hlist));
	}
}
