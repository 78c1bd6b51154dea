/*
 * A probe hit on x86 in later kernels, which do not let the processor step. A hit is one or two #BP:
 *
 *	the first	the probe is found and its handler called. What many instructions would do is done in
 *			C: the hit is over. Others have a copy.
 *	the second	stands behind the copy. Where the copy does not depend on its place there may be a
 *			jump back instead (boosting).
 *
 * A probe at the nop by which a function begins needs no exception: see entry_hit.
 */
#include <linux/hit_path.h>
#include <linux/notifier.h>
#include <asm/processor.h>
#include <asm/text.h>

#if ERA_COPY_TRAPS
#define INTERRUPT_FLAG ((unsigned long)X86_EFLAGS_IF)

static __always_inline void open_hit(struct hit *h, struct kprobe *p, const struct pt_regs *regs,
				     unsigned long stage)
{
	h->probe = p;
	h->flags_before = regs->flags & INTERRUPT_FLAG;
	h->stage = stage;
}

static __always_inline void go_on_at(struct pt_regs *regs, const void *code)
{
	regs->ip = (unsigned long)code;
}

/* Whether the handler of a hit has decided itself where the code goes on. */
static __always_inline int handler_decides(const struct hit *h, struct pt_regs *regs)
{
	probe_handler *before = h->probe->pre_handler;

	return before && before(h->probe, regs);
}

static __always_inline void handle_after(struct hit *h, struct pt_regs *regs)
{
	void (*after)(struct kprobe *, struct pt_regs *, unsigned long) = h->probe->post_handler;

	if (unlikely(after)) {
		h->stage = HIT_AFTER;
		after(h->probe, regs, 0);
	}
}

/* The hit around a nested one goes on, or other code does. */
static __always_inline void leave_hit(struct hit_record *r)
{
	if (r->now.stage == HIT_NESTED_COPY)
		r->now = r->outer;
	else
		close_hit(r);
}

/* The instruction is done. A nested hit has no handlers. */
static __step void end_hit(struct hit_record *r, struct pt_regs *regs)
{
	if (r->now.stage != HIT_NESTED_COPY)
		handle_after(&r->now, regs);
	leave_hit(r);
}

/* Where the displaced instruction can be executed without coming back here, or NULL. */
static __always_inline const kprobe_opcode_t *returning_copy(const struct kprobe *p)
{
	const struct arch_specific_insn *a = &p->ainsn;

	if (p->flags & KPROBE_FLAG_OPTIMIZED)
		return container_of(p, struct jump_probe, kp)->detour +
		       (detour_template_end - detour_template);
	/* The copy with a jump lies behind the one with a breakpoint. */
	return a->boostable > 0 && !p->post_handler ? a->insn + MAX_INSN_SIZE : NULL;
}

/* The handlers are done: the displaced instruction is next. Interrupts stay off until its copy is done. */
static __dispatch void leave_handlers(struct hit_record *r, struct pt_regs *regs)
{
	const struct kprobe *p = r->now.probe;
	const struct arch_specific_insn *a = &p->ainsn;
	const kprobe_opcode_t *copy = returning_copy(p);

	if (copy) {
		go_on_at(regs, copy);
		leave_hit(r);
	} else if (a->emulate) {
		regs->ip = a->emulate(a, regs, (unsigned long)p->addr + a->size);
		end_hit(r, regs);
	} else {
		if (r->now.stage == HIT_HANDLER)
			r->now.stage = HIT_COPY;
		regs->flags &= ~INTERRUPT_FLAG;
		go_on_at(regs, a->insn);
	}
}

/* The handlers of a probe that is hit during another hit would not be safe: it is missed. */
static __dispatch void nested_hit(struct hit_record *r, struct kprobe *p, struct pt_regs *regs)
{
	if (unlikely(r->now.stage == HIT_NESTED_COPY)) {
		klog("Unrecoverable kprobe detected at %p.\n", p->addr);
		BUG();
	}
	count_missed(p);
	r->outer = r->now;
	open_hit(&r->now, p, regs, HIT_NESTED_COPY);
	leave_handlers(r, regs);
}

/* The breakpoint behind a copy, which the processor has gone past. */
static __always_inline int ends_copy(const struct hit_record *r, const struct pt_regs *regs)
{
	const struct arch_specific_insn *a = &r->now.probe->ainsn;

	return (r->now.stage & (HIT_COPY | HIT_NESTED_COPY)) &&
	       regs->ip == (unsigned long)a->insn + a->size + 1;
}

static __step void copy_done(struct hit_record *r, struct pt_regs *regs)
{
	const struct kprobe *p = r->now.probe;

	regs->flags |= r->now.flags_before;
	go_on_at(regs, p->addr + p->ainsn.size);
	end_hit(r, regs);
}

/* #BP, interrupts off. Nonzero: the exception was a probe's. */
__dispatch int breakpoint_hit(struct pt_regs *regs)
{
	kprobe_opcode_t *at = (kprobe_opcode_t *)regs->ip - 1;
	struct hit_record *r = this_hit();
	struct kprobe *p = find_probe(at);

	if (!p) {
		if (hit_under_way(r) && ends_copy(r, regs)) {
			copy_done(r, regs);
			return 1;
		}
		/* Somebody has taken the breakpoint away: the code goes on with what is there now. */
		if (READ_VOLATILE(*at) == BREAKPOINT_INSTRUCTION)
			return 0;
		go_on_at(regs, at);
		return 1;
	}
	if (unlikely(hit_under_way(r))) {
		nested_hit(r, p, regs);
		return 1;
	}
	open_hit(&r->now, p, regs, HIT_HANDLER);
	if (handler_decides(&r->now, regs))
		close_hit(r);
	else
		leave_handlers(r, regs);
	return 1;
}

/* A fault of a copy is made that of the original. A handler's is its own: the exception table is asked. */
__dispatch int kprobe_fault_handler(struct pt_regs *regs, int trapnr __unused)
{
	struct hit_record *r = this_hit();
	const struct kprobe *p = r->now.probe;

	if (!(r->now.stage & (HIT_COPY | HIT_NESTED_COPY)) || regs->ip != (unsigned long)p->ainsn.insn)
		return 0;
	go_on_at(regs, p->addr);
	regs->flags |= r->now.flags_before;
	leave_hit(r);
	return 0;
}

void kprobes_init(void)
{
}

/* At the first instruction of a function its return address is on top of the stack. */
__kretprobe void divert_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kprobe_opcode_t **back = (kprobe_opcode_t **)kernel_stack_top(regs);

	ri->frame = (unsigned long)back;
	ri->ret_addr = *back;
	*back = (kprobe_opcode_t *)kretprobe_trampoline;
}

#ifdef FENTRY
/*
 * A function's first instruction has called the trampoline: the registers are saved, and nothing is to be
 * executed elsewhere. A handler that calls a probed function comes here again: once it is seen, so
 * that the hit is counted as missed, from then on it is ignored.
 */
__detour __used void entry_hit(unsigned long at, struct pt_regs *regs)
{
	unsigned long level = 1UL << (in_interrupt() ? 2 : 0);
	struct hit_record *r;
	struct kprobe *p;

	if (unlikely(current->entry_hits & level)) {
		level <<= 1;
		if (current->entry_hits & level)
			return;
	}
	current->entry_hits |= level;
	preempt_disable();
	p = find_probe((void *)at);
	if (likely(p && probe_enabled(p))) {
		r = this_hit();
		if (unlikely(hit_under_way(r))) {
			count_missed(p);
		} else {
			open_hit(&r->now, p, regs, HIT_HANDLER);
			/* As if a breakpoint stood there. */
			regs->ip = at + 1;
			if (!handler_decides(&r->now, regs)) {
				regs->ip = at + ENTRY_NOP_SIZE;
				handle_after(&r->now, regs);
			}
			close_hit(r);
		}
	}
	preempt_enable();
	current->entry_hits &= ~level;
}
#endif
#endif
