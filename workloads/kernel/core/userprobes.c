/*
 * Hits of probes in user mode. The probe is found by the file and the offset of the instruction, its handlers run in
 * the kernel with the registers of user mode. A processor that steps executes the instruction where it is: its
 * breakpoint goes for that long, for all tasks that share the page.
 */
#include <linux/guest.h>
#include <linux/userprobes.h>
#include <linux/hit.h>
#include <linux/user.h>

#ifdef USERPROBES
#include <asm/userprobes.h>

static __always_inline struct hlist_head *bucket_of_place(const struct inode *inode, unsigned long offset)
{
	return &probe_table[hash_ptr((const void *)((unsigned long)inode * offset), HIT_HASH_BITS)];
}

/* Probes of the kernel are in the same buckets and have no file. */
static __always_inline int is_of_place(const struct kprobe *p, const struct inode *inode, unsigned long offset)
{
	return p->user && p->user->inode == inode && p->user->offset == offset;
}

__dispatch struct kprobe *find_user_probe(unsigned long address, kprobe_opcode_t **seen)
{
	struct vm_area_struct *vma = current->mm ? area_of(current->mm, address) : NULL;
	unsigned long offset;
	struct hlist_node *at;
	struct page *page;

	if (!vma || !vma->vm_inode)
		return NULL;
	page = *page_slot(vma, address);
	if (!page)
		return NULL;
	*seen = (kprobe_opcode_t *)(page->address + (address & ~PAGE_MASK));
	offset = (vma->vm_pgoff << PAGE_SHIFT) + address - vma->vm_start;
	walk_chain(at, bucket_of_place(vma->vm_inode, offset)) {
		struct kprobe *p = container_of(at, struct kprobe, hlist);

		if (is_of_place(p, vma->vm_inode, offset))
			return p;
	}
	return NULL;
}

#if USER_STEPS
/* The instruction that is being stepped, as the kernel sees it. There is one hit at a time. */
static kprobe_opcode_t *stepped;

/* The handlers are done: user mode executes the original once. */
static __always_inline void step_in_place(struct hit_record *r, struct kprobe *p, kprobe_opcode_t *seen,
					  const kprobe_opcode_t *at, struct pt_regs *regs)
{
	r->now.stage = HIT_COPY;
	stepped = seen;
	store_user_opcode(seen, p->opcode);
	go_to(regs, at);
	begin_user_step(regs, &r->now);
}

/* Another task was to run in the middle of a hit, whose lock it would wait for. It runs behind the step. */
static int postponed;

__dispatch int postpone_reschedule(void)
{
	struct hit_record *r = this_hit();

	if (!hit_under_way(r) || r->now.stage != HIT_COPY)
		return 0;
	atomic_clear_bit(TIF_NEED_RESCHED, &current_thread_info()->flags);
	postponed = 1;
	return 1;
}

/* The breakpoint is back. */
static __always_inline void end_step(struct hit_record *r, struct pt_regs *regs)
{
	store_user_opcode(stepped, BREAKPOINT_INSTRUCTION);
	end_user_step(regs, &r->now);
	if (unlikely(postponed)) {
		postponed = 0;
		current_thread_info()->flags |= _TIF_NEED_RESCHED;
	}
	close_hit(r);
}

/* No hit after all. */
static __always_inline void back_out(void)
{
	end_hits();
	preempt_enable_no_resched();
}

__dispatch int user_breakpoint_hit(struct pt_regs *regs)
{
	kprobe_opcode_t *at = user_breakpoint_address(regs), *seen;
	struct hit_record *r = this_hit();
	struct kprobe *p;

	preempt_disable();
	begin_hits();
	/* Taken away while this CPU waited for the lock: the end of a step would put it back. */
	if (unlikely(!is_user_breakpoint(at))) {
		back_out();
		go_to(regs, at);
		return 1;
	}
	p = find_user_probe((unsigned long)at, &seen);
	if (unlikely(!p)) {
		back_out();
		return 0;
	}
	r->now.probe = p;
	r->now.stage = HIT_HANDLER;
	/* A handler that answers nonzero has decided itself where the code goes on. */
	if (!p->pre_handler || !p->pre_handler(p, regs))
		step_in_place(r, p, seen, at, regs);
	return 1;
}

__step int user_stepped(struct pt_regs *regs)
{
	struct hit_record *r = this_hit();

	if (!hit_under_way(r))
		return 0;
	if (r->now.probe->post_handler) {
		r->now.stage = HIT_AFTER;
		r->now.probe->post_handler(r->now.probe, regs, 0);
	}
	end_step(r, regs);
	return 1;
}

/* The instruction has not been executed: its fault is the task's, and when that is mended it hits again. */
__dispatch int user_step_faulted(struct pt_regs *regs, unsigned int vector)
{
	struct hit_record *r = this_hit();
	struct kprobe *p;

	if (!hit_under_way(r))
		return 0;
	p = r->now.probe;
	if (p->fault_handler && p->fault_handler(p, regs, vector))
		return 1;
	end_step(r, regs);
	return 0;
}
#else
int postpone_reschedule(void)
{
	return 0;
}

/* What the architecture emulates does not fault in user mode. */
__dispatch int user_step_faulted(struct pt_regs *regs __unused, unsigned int vector __unused)
{
	return 0;
}
#endif

/*
 * Who guards the return instances: where instructions are stepped, the lock of all hits, which every hit has. Elsewhere
 * each bucket has a lock for the instances in use, and each probe one for its free ones.
 */
#if USER_STEPS
static __always_inline unsigned long guard_bucket(unsigned long bucket __unused)
{
	return 0;
}

static __always_inline void unguard_bucket(unsigned long bucket __unused, unsigned long flags __unused)
{
}

static __always_inline void guard_free(struct kretprobe *rp __unused)
{
}

static __always_inline void unguard_free(struct kretprobe *rp __unused)
{
}
#else
unsigned long lock_instances(unsigned long bucket);
void unlock_instances(unsigned long bucket, unsigned long flags);

static __always_inline unsigned long guard_bucket(unsigned long bucket)
{
	return lock_instances(bucket);
}

static __always_inline void unguard_bucket(unsigned long bucket, unsigned long flags)
{
	unlock_instances(bucket, flags);
}

static __always_inline void guard_free(struct kretprobe *rp)
{
	arch_spin_lock(&rp->lock);
}

static __always_inline void unguard_free(struct kretprobe *rp)
{
	arch_spin_unlock(&rp->lock);
}
#endif

/* A free instance, or NULL. */
static __always_inline struct kretprobe_instance *take_user_instance(struct kretprobe *rp)
{
	struct hlist_node *first;

	guard_free(rp);
	first = rp->free_instances.first;
	if (first)
		chain_leave(first);
	else
		rp->nmissed++;
	unguard_free(rp);
	return first ? container_of(first, struct kretprobe_instance, hlist) : NULL;
}

/* The entry of a return probed function of user space: its return is led to the trampoline there. */
__kretprobe int user_return_entered(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_instance *ri = take_user_instance(rp);
	unsigned long *back = user_return_address(regs), bucket, flags;

	if (!ri)
		return 0;
	ri->ret_addr = (kprobe_opcode_t *)*back;
	*back = USER_ADDRESS(user_trampoline);
	ri->rp = rp;
	ri->task = current;
	bucket = hash_ptr(current, HIT_HASH_BITS);
	flags = guard_bucket(bucket);
	chain_push(&instance_table[bucket], &ri->hlist);
#if ERA_USED_CHAIN
	chain_push(&rp->used_instances, &ri->used);
#endif
	unguard_bucket(bucket, flags);
	return 0;
}

static __always_inline struct kretprobe_instance *newest_instance(void)
{
	struct hlist_node *at;

	walk_chain(at, &instance_table[hash_ptr(current, HIT_HASH_BITS)]) {
		struct kretprobe_instance *ri = container_of(at, struct kretprobe_instance, hlist);

		if (ri->task == current)
			return ri;
	}
	return NULL;
}

/* The probe of the trampoline. Its handler goes where the function was to return to. */
__kretprobe int user_trampoline_hit(struct kprobe *p __unused, struct pt_regs *regs)
{
	unsigned long bucket = hash_ptr(current, HIT_HASH_BITS), flags = guard_bucket(bucket);
	struct kretprobe_instance *ri = newest_instance();
	struct kretprobe *rp;

	if (!ri) {
		unguard_bucket(bucket, flags);
		return 0;
	}
	rp = ri->rp;
	if (rp && rp->handler)
		rp->handler(ri, regs);
	go_to(regs, ri->ret_addr);
	chain_leave(&ri->hlist);
	if (rp) {
#if ERA_USED_CHAIN
		chain_leave(&ri->used);
#endif
		guard_free(rp);
		chain_push(&rp->free_instances, &ri->hlist);
		unguard_free(rp);
	} else {
		kfree(ri);
	}
	unguard_bucket(bucket, flags);
	close_hit(this_hit());
	return 1;
}
#endif
